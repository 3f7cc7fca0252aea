def show(state):
    pass
