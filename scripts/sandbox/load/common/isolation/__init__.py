"""What a history of transactions shows of a server's isolation: anomalies, named as Adya and Elle
name them. Pure.
"""
