"""PURE: charts as SVG: what they are drawn from, their marks, the charts of a bench, a matrix and a
trial.
"""
