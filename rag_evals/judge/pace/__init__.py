"""How fast is an endpoint asked, how often again, and for how long at most?"""
