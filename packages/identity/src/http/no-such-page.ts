import type { FastifyReply, FastifyRequest } from 'fastify'

/** Addresses that programs call: their callers get problems as JSON, also if the caller is a browser. */
const programPaths = /^\/(?:api|mesh|v1|ws|assets|hooks|metrics|healthz|readyz)(?:\/|$)/

/** Returns whether a person opened the address in a browser, so that the answer must be a page. Pure. */
export function wantsPage({
  method,
  url,
  headers,
}: Pick<FastifyRequest, 'method' | 'url' | 'headers'>): boolean {
  if (method !== 'GET' || programPaths.test(url)) return false
  return (headers.accept ?? '').toLowerCase().includes('text/html')
}

/**
 * The page contains no data of the request and no data of the fleet, because the caller is not authenticated here.
 */
const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>There is no such page · Flotilla</title>
<style>
body { display: grid; place-content: center; min-height: 90vh; margin: 0; padding: 24px; font: 15px/1.6 system-ui, sans-serif; text-align: center; background: light-dark(#fbfbfc, #0e0f12); color: light-dark(#17191d, #e8eaed) }
h1 { font-size: 22px }
a { color: light-dark(#4f46c8, #a5a1ff) }
</style>
</head>
<body>
<main>
<h1>There is no such page</h1>
<p>Flotilla has no page at this address. Check the address, or choose a page:</p>
<p><a href="/chat">Chat</a> · <a href="/fleet">Fleet</a> · <a href="/work">Work</a> · <a href="/runs">Runs</a> · <a href="/settings">Settings</a></p>
</main>
</body>
</html>
`

export function sendNoSuchPage(reply: FastifyReply): FastifyReply {
  return reply
    .code(404)
    .header(
      'content-security-policy',
      "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    )
    .header('cache-control', 'no-store')
    .type('text/html; charset=utf-8')
    .send(page)
}
