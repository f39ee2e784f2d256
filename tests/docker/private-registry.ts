import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { createGzip } from 'node:zlib'
import { tarArchive, tarFile } from '../../packages/fleet/src/sandbox/tar-archive.ts'

export interface PrivateRegistry {
  /** The token without which the registry answers nothing. */
  readonly token: string
  /** A home folder of a user, whose `.npmrc` names the registry for the scope `@private` and has the token. */
  readonly userFolder: string
  /** Requests without the token. */
  readonly refused: string[]
  close(): Promise<void>
}

/**
 * Starts an npm registry on loopback with one package, `@private/tool`, whose install script is `script`. The package also has
 * a file of `zeroBytes` zeros, which takes little to download.
 */
export async function openPrivateRegistry(script: string, zeroBytes = 0): Promise<PrivateRegistry> {
  const token = 'npm_token-that-no-package-may-read'
  const owner = { uid: 0, mode: 0o755 }
  const manifest = { name: '@private/tool', version: '1.0.0', scripts: { install: 'sh install.sh' } }
  const files = { 'package/package.json': JSON.stringify(manifest), 'package/install.sh': script }
  const entries = Object.entries(files).map(([name, text]) => tarFile(name, Buffer.from(text), owner))
  const zeros = { name: 'package/zeros', size: zeroBytes, content: zerosOf(zeroBytes), ...owner }
  const archive = Readable.from(tarArchive(zeroBytes === 0 ? entries : [...entries, zeros]))
  const tarball = await buffer(archive.pipe(createGzip({ level: 1 })))
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`
  const refused: string[] = []
  const server = createServer((asked, reply) => {
    const path = asked.url ?? ''
    if (asked.headers.authorization !== `Bearer ${token}`) {
      refused.push(path)
      return reply.writeHead(401).end()
    }
    if (path.endsWith('.tgz')) return reply.end(tarball)
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const dist = { tarball: `${address}/@private/tool/-/tool-1.0.0.tgz`, integrity }
    const versions = { '1.0.0': { ...manifest, dist, hasInstallScript: true } }
    return reply
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ name: manifest.name, 'dist-tags': { latest: '1.0.0' }, versions }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const userFolder = await mkdtemp(join(tmpdir(), 'flotilla-user-'))
  const lines = [`@private:registry=http://127.0.0.1:${port}/`, `//127.0.0.1:${port}/:_authToken=${token}`]
  await writeFile(join(userFolder, '.npmrc'), `${lines.join('\n')}\n`)
  return {
    token,
    userFolder,
    refused,
    close: async () => {
      await new Promise((resolve) => server.close(resolve).closeAllConnections())
      await rm(userFolder, { recursive: true })
    },
  }
}

async function* zerosOf(bytes: number): AsyncGenerator<Uint8Array> {
  const piece = Buffer.alloc(1024 * 1024)
  for (let left = bytes; left > 0; left -= piece.length) yield piece.subarray(0, Math.min(left, piece.length))
}

/**
 * An install script that looks for the token everywhere, tries to replace what the agent trusts, and leaves a process
 * behind. What it found is in `found.txt` of its package.
 */
export const pryingScript = `
{
  id -u
  env
  cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2> /dev/null | tr '\\0' '\\n'
  find / -xdev -type f -size -1000k \\( -name '*npmrc*' -o -name 'pip.conf' -o -path '/fetch/*' -o -path '/tmp/*' \\) -exec cat {} + 2> /dev/null
  for place in /usr/local/sbin/node /usr/local/bin/node /opt/flotilla/agent.cjs /etc/ld.so.preload /usr/sbin/policy-rc.d; do
    (echo changed >> $place) 2> /dev/null && echo "WROTE $place"
  done
  find /fetch ! -type l -writable 2> /dev/null | head -5 | sed 's/^/WROTE /'
  node -e 'require("net").connect(3128, "127.77.0.1").on("connect", function () { this.write("GET / HTTP/1.0\\r\\n\\r\\n") }).on("data", () => console.log("REACHED")).on("error", () => {}).setTimeout(2000, function () { this.destroy() })'
  echo END
} > found.txt 2>&1
setsid sleep 100000 > /dev/null 2>&1 &
`
