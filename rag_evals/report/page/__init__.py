"""How is a run shown in a browser? One HTML file that carries its rows."""
