import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { createSecureServer } from 'node:http2'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../../bench/free-port.ts'
import { eventually } from './eventually.ts'
import { makeCertificate, makeWheel } from './package-site.ts'

const run = promisify(execFile)
const version = '6.10.4'

export interface SeenRequest {
  readonly version: string
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly bytes: number
}

/** An npm registry (verdaccio) and a Python index behind one server that speaks HTTP/2 and HTTP/1.1. */
export interface RegistrySite {
  readonly port: number
  readonly certificate: string
  /** A token of a user of the npm registry. */
  readonly token: string
  readonly requests: SeenRequest[]
  close(): Promise<void>
}

/**
 * Starts the registries on loopback. `more` are further names in the certificate. `/echo` repeats the headers, `/inside?to=` redirects, `/upload/` takes Python
 * packages, and `/pip.whl` is pip itself.
 */
export async function startRegistrySite(host: string, ...more: readonly string[]): Promise<RegistrySite> {
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-registry-'))
  const [key, cert] = await makeCertificate(folder, host, more)
  const verdaccio = await startVerdaccio(folder)
  const files = await pythonFiles(folder)
  const requests: SeenRequest[] = []
  const server = createSecureServer({ key, cert, allowHTTP1: true }, (request, response) => {
    let bytes = 0
    request.on('data', (chunk: Buffer) => (bytes += chunk.length))
    request.on('end', () => {
      const { httpVersion, method, url, headers } = request
      requests.push({ version: httpVersion, method, url, headers: { ...headers }, bytes })
    })
    serve({ request, response, files, registryPort: verdaccio.port })
  })
  const open = new Set<{ destroy(): unknown }>()
  server.on('secureConnection', (socket) => open.add(socket.on('error', () => {})))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    certificate: cert,
    token: await addUser(verdaccio.port),
    requests,
    close: async () => {
      for (const socket of open) socket.destroy()
      server.close()
      await verdaccio.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

interface Served {
  readonly request: Http2ServerRequest
  readonly response: Http2ServerResponse
  readonly files: ReadonlyMap<string, Buffer>
  readonly registryPort: number
}

function serve({ request, response, files, registryPort }: Served): void {
  const host = request.authority || request.headers.host || ''
  const url = new URL(request.url, `https://${host}`)
  const file = files.get(url.pathname)
  if (url.pathname === '/echo') {
    const headers = Object.entries(request.headers).filter(([name]) => !name.startsWith(':'))
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(headers))
  } else if (url.pathname === '/inside') {
    response.writeHead(302, { location: url.searchParams.get('to') ?? '' }).end()
  } else if (url.pathname === '/upload/') {
    request.on('end', () => response.end('taken'))
  } else if (url.pathname.startsWith('/simple/')) {
    const links = [...files.keys()].map((path) => `<a href="https://${host}${path}">${path.slice(1)}</a>`)
    response.writeHead(200, { 'content-type': 'text/html' }).end(links.join('\n'))
  } else if (file !== undefined) {
    response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(file)
  } else {
    const headers: Record<string, string> = { host, 'x-forwarded-proto': 'https' }
    for (const name of ['authorization', 'content-type', 'content-length', 'accept', 'npm-command']) {
      const value = request.headers[name]
      if (typeof value === 'string') headers[name] = value
    }
    const onward = httpRequest(
      { host: '127.0.0.1', port: registryPort, method: request.method, path: request.url, headers },
      (reply) => {
        const kept = Object.entries(reply.headers).filter(
          ([name]) => !['connection', 'keep-alive', 'transfer-encoding'].includes(name),
        )
        response.writeHead(reply.statusCode ?? 502, Object.fromEntries(kept))
        reply.pipe(response)
      },
    )
    onward.on('error', () => response.writeHead(502).end())
    request.pipe(onward)
  }
}

/** The files of the Python index: one package, and pip itself from this machine's Python. */
async function pythonFiles(folder: string): Promise<ReadonlyMap<string, Buffer>> {
  const wheel = 'far_wheel-1.0-py3-none-any.whl'
  await run('python3', ['-c', makeWheel, join(folder, wheel)])
  const { stdout } = await run('python3', ['-c', 'import ensurepip; print(ensurepip.__path__[0])'])
  const bundled = join(stdout.trim(), '_bundled')
  const pip = (await readdir(bundled)).find((name) => name.startsWith('pip-')) ?? ''
  return new Map([
    [`/${wheel}`, await readFile(join(folder, wheel))],
    ['/pip.whl', await readFile(join(bundled, pip))],
  ])
}

/** Installs verdaccio once for this machine's user, without install scripts, and starts it. */
async function startVerdaccio(folder: string) {
  const place = join(homedir(), '.cache', 'flotilla', 'tests', `verdaccio-${version}`)
  if (!existsSync(place)) {
    const fresh = await mkdtemp(join(tmpdir(), 'flotilla-verdaccio-'))
    // One of its packages asks for a version of node-fetch by a name that mirrors may not have.
    const manifest = {
      private: true,
      dependencies: { verdaccio: version },
      overrides: { 'node-fetch': '2.7.0' },
    }
    await writeFile(join(fresh, 'package.json'), JSON.stringify(manifest))
    await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: fresh })
    await mkdir(dirname(place), { recursive: true })
    await run('cp', ['-r', fresh, `${place}.new`])
    await rename(`${place}.new`, place)
    await rm(fresh, { recursive: true, force: true })
  }
  const port = await freePort()
  const config = join(folder, 'verdaccio.yaml')
  await writeFile(
    config,
    [
      `storage: ${join(folder, 'storage')}`,
      `auth: { htpasswd: { file: ${join(folder, 'htpasswd')} } }`,
      `packages: { '**': { access: $all, publish: $authenticated } }`,
      'web: { enable: false }',
      'log: { type: stdout, level: fatal }',
      'max_body_size: 10mb',
      '',
    ].join('\n'),
  )
  const program = join(place, 'node_modules', 'verdaccio', 'bin', 'verdaccio')
  const child = spawn(process.execPath, [program, '--config', config, '--listen', `127.0.0.1:${port}`], {
    stdio: 'ignore',
  })
  const ended = once(child, 'exit')
  await eventually('the registry listens', () => canConnect(port))
  return {
    port,
    close: async () => {
      child.kill()
      await ended
    },
  }
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

async function addUser(port: number): Promise<string> {
  const name = 'publisher'
  const body = JSON.stringify({
    name,
    password: 'a password of the test',
    email: 'a@example.org',
    type: 'user',
  })
  const asked = httpRequest({
    host: '127.0.0.1',
    port,
    method: 'PUT',
    path: `/-/user/org.couchdb.user:${name}`,
    headers: { 'content-type': 'application/json' },
  })
  asked.end(body)
  const [reply] = (await once(asked, 'response')) as [AsyncIterable<Buffer>]
  const chunks: Buffer[] = []
  for await (const chunk of reply) chunks.push(chunk)
  const { token } = JSON.parse(Buffer.concat(chunks).toString()) as { token: string }
  return token
}
