"""How are requests sent as a batch, and read when their replies have come?"""
