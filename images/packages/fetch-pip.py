"""Downloads pip itself from the index, because the agent image has Python without pip."""

import configparser
import hashlib
import html
import re
import urllib.parse
import urllib.request

NAME = "pip-25.3-py3-none-any.whl"
SHA256 = "9655943313a94722b7774661c21049070f6bbb0a1516bf02f7c8d5d9201514cd"

config = configparser.ConfigParser()
config.read("/fetch/config/pip.conf")
page = config["global"]["index-url"].rstrip("/") + "/pip/"
with urllib.request.urlopen(page, timeout=60) as reply:
    links = re.findall(r'href="([^"]+)"', reply.read(32 * 1024 * 1024).decode())
link = next((html.unescape(one) for one in links if f"/{NAME}" in one), None)
if link is None:
    raise SystemExit("ERROR: No matching distribution found for pip")
with urllib.request.urlopen(urllib.parse.urljoin(page, link), timeout=60) as reply:
    wheel = reply.read(32 * 1024 * 1024)
if hashlib.sha256(wheel).hexdigest() != SHA256:
    raise SystemExit(f"the index delivered {NAME} with another digest")
with open("/fetch/pip.whl", "wb") as file:
    file.write(wheel)
