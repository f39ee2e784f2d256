import { spawn, execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer as createPlainServer } from 'node:http'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { createSecureServer } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { tarArchive, tarFile } from '../../packages/fleet/src/sandbox/tar-archive.ts'
import type { TarEntry } from '../../packages/fleet/src/sandbox/tar-archive.ts'

const run = promisify(execFile)

/**
 * A site that programs download from: pages, a git repository, an npm registry, a Python index, crates for `addCrateIndex`;
 * HTTP and HTTPS.
 */
export interface PackageSite {
  readonly plainPort: number
  readonly tlsPort: number
  /** The self-signed certificate, PEM. */
  readonly certificate: string
  /** Adds the git repository `/crates.git`, an index of cargo in which `far-crate` 1.0.0 is. */
  addCrateIndex(): Promise<void>
  readonly requests: {
    readonly url: string
    readonly headers: IncomingMessage['headers']
    /** The version of HTTP. */
    readonly version: string
  }[]
  close(): Promise<void>
}

/**
 * Simulates the internet; `host` is the name in the certificate. What is below `/locked` needs the password; `/echo`
 * repeats the headers of the request.
 */
export async function startPackageSite(host: string, password = ''): Promise<PackageSite> {
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-site-'))
  const [key, certificate] = await makeCertificate(folder, host)
  await makeRepository(join(folder, 'repository.git'), { 'from-outside.txt': 'cloned through the proxy\n' })
  await run('python3', ['-c', makeWheel, join(folder, wheelName)])
  const files = {
    tarball: await npmTarball(),
    wheel: await readFile(join(folder, wheelName)),
    crate: await crateFile(),
  }
  const requests: PackageSite['requests'] = []
  const answer: RequestListener = (request, response) => {
    requests.push({ url: request.url ?? '', headers: request.headers, version: request.httpVersion })
    const url = new URL(request.url ?? '/', 'http://site')
    if (url.pathname.startsWith('/locked/')) {
      const given = Buffer.from(
        request.headers.authorization?.slice('Basic '.length) ?? '',
        'base64',
      ).toString()
      if (given !== `x-access-token:${password}`) {
        response.writeHead(401, { 'www-authenticate': 'Basic realm="locked"' }).end('locked')
        return
      }
      request.url = request.url?.slice('/locked'.length) ?? ''
      void serveGit(folder, request, response)
    } else if (/^\/(?:repository|crates)\.git\//.test(url.pathname)) void serveGit(folder, request, response)
    else serveFile(files, { url, request, response })
  }
  // Its requests and answers have the form of those of HTTP/1.1, which it also speaks.
  const both = answer as unknown as Parameters<typeof createSecureServer>[1]
  const servers = [
    createPlainServer(answer),
    createSecureServer({ key, cert: certificate, allowHTTP1: true }, both),
  ] as const
  const open = new Set<Socket>()
  for (const server of servers) {
    server.on('connection', (socket: Socket) => open.add(socket.on('error', () => {})))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  }
  const portOf = (server: (typeof servers)[number]) => (server.address() as AddressInfo).port
  return {
    plainPort: portOf(servers[0]),
    tlsPort: portOf(servers[1]),
    certificate,
    addCrateIndex: () =>
      makeRepository(join(folder, 'crates.git'), {
        'config.json': JSON.stringify({
          dl: `https://${host}:${portOf(servers[1])}/crates/{crate}-{version}`,
        }),
        'fa/r-/far-crate': `${JSON.stringify({
          name: 'far-crate',
          vers: '1.0.0',
          deps: [],
          features: {},
          yanked: false,
          cksum: createHash('sha256').update(files.crate).digest('hex'),
        })}\n`,
      }),
    requests,
    close: async () => {
      for (const socket of open) socket.destroy()
      for (const server of servers) {
        await new Promise((resolve) => server.close(resolve))
      }
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** `more` are further names in the certificate. */
export async function makeCertificate(
  folder: string,
  host: string,
  more: readonly string[] = [],
): Promise<[string, string]> {
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')]
  const form = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2'.split(' ')
  const named = [
    '-subj',
    `/CN=${host}`,
    '-addext',
    `subjectAltName=${[host, ...more].map((name) => `DNS:${name}`).join(',')}`,
  ]
  await run('openssl', [...form, ...named, '-keyout', key, '-out', certificate])
  return [await readFile(key, 'utf8'), await readFile(certificate, 'utf8')]
}

async function makeRepository(path: string, files: Readonly<Record<string, string>>): Promise<void> {
  const work = `${path}-work`
  const git = (...args: string[]) =>
    run('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.com', '-C', work, ...args])
  await mkdir(work)
  await git('init', '-q', '-b', 'main')
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(work, name)), { recursive: true })
    await writeFile(join(work, name), text)
  }
  await git('add', '.')
  await git('commit', '-q', '-m', 'Begin')
  await run('git', ['clone', '-q', '--bare', work, path])
  await run('git', ['-C', path, 'config', 'http.receivepack', 'true'])
}

/** Runs git's own server program through CGI. */
async function serveGit(folder: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://site')
  const child = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env['PATH'],
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'],
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'],
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      REMOTE_USER: 'agent',
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  request.pipe(child.stdin)
  const chunks: Buffer[] = []
  for await (const chunk of child.stdout) chunks.push(chunk as Buffer)
  const reply = Buffer.concat(chunks)
  const end = reply.indexOf('\r\n\r\n')
  const lines = reply.subarray(0, end).toString().split('\r\n')
  const headers = Object.fromEntries(lines.map((line) => line.split(/:\s*/, 2) as [string, string]))
  const status = Number(headers['Status']?.slice(0, 3) ?? 200)
  delete headers['Status']
  response.writeHead(status, headers).end(reply.subarray(end + 4))
}

const wheelName = 'far_wheel-1.0-py3-none-any.whl'

interface Files {
  readonly tarball: Buffer
  readonly wheel: Buffer
  readonly crate: Buffer
}

function serveFile(
  files: Files,
  { url, request, response }: { url: URL; request: IncomingMessage; response: ServerResponse },
): void {
  const origin = `${'encrypted' in request.socket ? 'https' : 'http'}://${request.headers.host ?? String(request.headers[':authority'])}`
  const json = (value: object) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
  switch (url.pathname) {
    case '/page':
      return void response.end('a page from outside')
    case '/large':
      return void response.end(Buffer.alloc(8 * 1024 * 1024, 'x'))
    case '/echo':
      return void json(Object.fromEntries(Object.entries(request.headers)))
    case '/hold':
      return void response.writeHead(200).write('begun\n')
    case '/inside':
      return void response.writeHead(302, { location: url.searchParams.get('to') ?? '' }).end()
    case '/npm/far-package':
      return void json({
        name: 'far-package',
        'dist-tags': { latest: '1.0.0' },
        versions: {
          '1.0.0': {
            name: 'far-package',
            version: '1.0.0',
            dist: {
              tarball: `${origin}/npm/far-package.tgz`,
              integrity: `sha512-${createHash('sha512').update(files.tarball).digest('base64')}`,
            },
          },
        },
      })
    case '/npm/far-package.tgz':
      return void response.end(files.tarball)
    case '/simple/far-wheel/':
      return void response
        .writeHead(200, { 'content-type': 'text/html' })
        .end(`<a href="${origin}/${wheelName}">${wheelName}</a>`)
    case `/${wheelName}`:
      // As of PyPI, so that pip caches it.
      return void response
        .writeHead(200, { 'cache-control': 'max-age=365000000, immutable, public' })
        .end(files.wheel)
    case '/crates/far-crate-1.0.0':
      return void response.end(files.crate)
    default:
      return void response.writeHead(404).end('{}')
  }
}

const owner = { uid: 0, mode: 0o644 }

async function crateFile(): Promise<Buffer> {
  const manifest = '[package]\nname = "far-crate"\nversion = "1.0.0"\n'
  return zipped([
    tarFile('far-crate-1.0.0/Cargo.toml', Buffer.from(manifest), owner),
    tarFile('far-crate-1.0.0/src/lib.rs', Buffer.from('pub const SAID: &str = "from outside";\n'), owner),
  ])
}

async function zipped(files: readonly TarEntry[]): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of tarArchive(files)) pieces.push(piece)
  return gzipSync(Buffer.concat(pieces))
}

async function npmTarball(): Promise<Buffer> {
  const files = [
    tarFile(
      'package/package.json',
      Buffer.from('{"name":"far-package","version":"1.0.0","main":"index.js"}'),
      owner,
    ),
    tarFile('package/index.js', Buffer.from('module.exports = "installed from outside"\n'), owner),
  ]
  return zipped(files)
}

/** A minimal package that pip installs, written with Python's zipfile module. */
export const makeWheel = `
import sys, zipfile
info = 'far_wheel-1.0.dist-info/'
files = {
  'far_wheel.py': 'said = "installed from outside"\\n',
  info + 'METADATA': 'Metadata-Version: 2.1\\nName: far-wheel\\nVersion: 1.0\\n',
  info + 'WHEEL': 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n',
}
files[info + 'RECORD'] = ''.join(f'{name},,\\n' for name in files) + info + 'RECORD,,\\n'
with zipfile.ZipFile(sys.argv[1], 'w') as wheel:
  for name, text in files.items(): wheel.writestr(name, text)
`
