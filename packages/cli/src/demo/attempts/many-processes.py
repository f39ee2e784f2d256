# Starts processes until 300 live or the system refuses; ends them all again.
import json, os, signal, sys

wanted = int(sys.argv[1])
children = []
refusal = None
for _ in range(wanted):
    try:
        child = os.fork()
    except OSError as error:
        refusal = os.strerror(error.errno)
        break
    if child == 0:
        # Small, so that the bound on processes is met before the one on memory; ends on its own should nobody end it.
        os.execvp("sleep", ["sleep", "60"])
    children.append(child)
for child in children:
    os.kill(child, signal.SIGKILL)
for child in children:
    os.waitpid(child, 0)
print("RESULT " + json.dumps({"started": len(children), "wanted": wanted, "refusal": refusal}))
