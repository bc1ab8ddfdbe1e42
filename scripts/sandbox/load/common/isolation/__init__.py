"""The isolation of a server by a history of transactions: anomalies, named as Adya and Elle name
them. Pure.
"""
