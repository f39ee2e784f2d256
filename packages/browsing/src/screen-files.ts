import * as fs from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative, sep } from 'node:path'
import { browserHumanEndpoints } from '@flotilla/protocol/browser-endpoints'
import { packedFile } from '@flotilla/protocol/built-program'

const contentTypes = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
} as const

export interface ScreenFile {
  readonly contentType: string
  readonly bytes: Buffer
}

/** Folders of noVNC's package that its page loads from. */
const folders = ['core', 'vendor'] as const

/**
 * Returns a reader of the screen's page and noVNC's own files, by path below the screen's address. All are read
 * completely and once: a path is looked up in this map and never in a folder, so no other file is served (lesson 24).
 */
export function screenFileReader(repositoryRoot: string): () => Promise<ReadonlyMap<string, ScreenFile>> {
  let reading: Promise<ReadonlyMap<string, ScreenFile>> | null = null
  return () => {
    reading ??= readAll(repositoryRoot).catch((error: unknown) => {
      reading = null
      throw error
    })
    return reading
  }
}

async function readAll(repositoryRoot: string): Promise<ReadonlyMap<string, ScreenFile>> {
  // An installed Flotilla contains noVNC's files. Otherwise the npm package is resolved, whose entry is core/rfb.js.
  const entry =
    packedFile(fs, repositoryRoot, 'novnc/core/rfb.js') ??
    createRequire(join(repositoryRoot, 'package.json')).resolve('@novnc/novnc')
  const home = dirname(dirname(entry))
  const files = new Map<string, ScreenFile>([
    ['', own('html', page)],
    ['screen.js', own('js', script)],
    ['screen.css', own('css', style)],
  ])
  for (const folder of folders) {
    for (const file of await readdir(join(home, folder), { recursive: true, withFileTypes: true })) {
      if (!file.isFile() || !file.name.endsWith('.js')) continue
      const path = join(file.parentPath, file.name)
      const name = relative(home, path).split(sep).join('/')
      files.set(`novnc/${name}`, { contentType: contentTypes.js, bytes: await readFile(path) })
    }
  }
  return files
}

function own(kind: keyof typeof contentTypes, text: string): ScreenFile {
  return { contentType: contentTypes[kind], bytes: Buffer.from(text) }
}

/**
 * Allows only what noVNC needs: its modules, this origin's WebSocket, and pictures that it draws from bytes. No
 * inline script runs, and only the mesh's own pages may frame it.
 */
export const screenHeaders = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'cache-control': 'no-store',
} as const

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Browser</title>
<link rel="stylesheet" href="screen.css">
</head>
<body>
<header>
<strong id="agent"></strong> <span id="state" role="status"></span>
<button id="take-over" type="button">Take over</button>
<button id="give-back" type="button">Give back</button>
</header>
<main id="screen"></main>
<script type="module" src="screen.js"></script>
</body>
</html>
`

const style = `html, body { height: 100%; margin: 0 }
body { display: flex; flex-direction: column; font: 15px/1.4 system-ui, sans-serif; background: #16181d; color: #eceef2 }
header { display: flex; gap: 0.75rem; align-items: center; padding: 0.5rem 0.75rem }
#state { flex: 1 }
button { font: inherit; padding: 0.25rem 0.75rem }
main { flex: 1; min-height: 0 }
`

/** The script of the screen page, which shows who has the browser, and the screen. It inserts no text as markup. */
const script = `import RFB from './novnc/core/rfb.js'

const agent = decodeURIComponent(location.pathname.split('/')[2] ?? '')
const byId = (id) => document.getElementById(id)
const say = (text) => { byId('state').textContent = text }
byId('agent').textContent = agent
document.title = 'Browser of ' + agent

const call = async (method, path) => {
  const reply = await fetch(path, { method, headers: { 'x-requested-with': 'flotilla-screen' } })
  const body = await reply.json()
  if (!reply.ok) throw new Error([body.title, body.detail, body.repair].filter(Boolean).join('. '))
  return body
}
const paths = ${JSON.stringify({
  'take-over': browserHumanEndpoints.browserTakeOver.path,
  'give-back': browserHumanEndpoints.browserGiveBack.path,
})}
const act = (what) => call('POST', paths[what].replace('{id}', encodeURIComponent(agent)))
const read = async () => {
  const { browsers, unavailable } = await call('GET', '${browserHumanEndpoints.browsers.path}')
  return browsers.find((one) => one.agent_id === agent) ?? { state: unavailable ?? 'closed', hand_over: null }
}
const describe = ({ state, hand_over: held, page }) => {
  if (state !== 'live') return state
  const shows = page === null || page.host === '' ? '' : ' · ' + page.host
  if (held === null) return 'the agent has it' + shows
  return (held.by === null ? 'a page asks for a person: take over and answer it' : held.by + ' has it; the agent waits') + shows
}

const shown = { rfb: null }
const connect = () => {
  const scheme = location.protocol === 'https:' ? 'wss:' : 'ws:'
  const rfb = new RFB(byId('screen'), scheme + '//' + location.host + location.pathname + 'websockify', { wsProtocols: ['binary'] })
  rfb.scaleViewport = true
  rfb.viewOnly = true
  rfb.addEventListener('disconnect', () => { shown.rfb = null; byId('screen').replaceChildren() })
  shown.rfb = rfb
}
const look = async () => {
  try {
    const view = await read()
    say(describe(view))
    const held = view.hand_over !== null && view.hand_over.by !== null
    byId('give-back').disabled = view.hand_over === null
    byId('take-over').disabled = held
    if (view.state === 'live' && shown.rfb === null) connect()
    if (shown.rfb !== null) shown.rfb.viewOnly = !held
  } catch (error) {
    say(error.message)
  }
}
for (const what of ['take-over', 'give-back']) {
  byId(what).addEventListener('click', async () => {
    say('...')
    try { await act(what); await look() } catch (error) { say(error.message) }
  })
}
await look()
setInterval(look, 2000)
`
