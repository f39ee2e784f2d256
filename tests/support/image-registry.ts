import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'

const sha256 = (bytes: Uint8Array) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`
const manifestType = 'application/vnd.docker.distribution.manifest.v2+json'

export interface ImageRegistry {
  /** `127.0.0.1:PORT/base:stable` */
  readonly name: string
  /** Points the tag at an image with this one file; returns its digest. Earlier images stay by digest. */
  publish(text: string): string
  /** References of requested manifests. */
  readonly asked: string[]
  close(): Promise<void>
}

/** An image registry on loopback, with which engines communicate without TLS. */
export async function startImageRegistry(tarOf: (text: string) => Uint8Array): Promise<ImageRegistry> {
  const blobs = new Map<string, Uint8Array>()
  const manifests = new Map<string, Uint8Array>()
  const requests: string[] = []
  const keep = (bytes: Uint8Array) => {
    blobs.set(sha256(bytes), bytes)
    return { size: bytes.byteLength, digest: sha256(bytes) }
  }
  const server = createServer((request, response) => {
    const [, kind = '', reference = ''] =
      /^\/v2\/base\/(manifests|blobs)\/(.+)$/.exec(request.url ?? '') ?? []
    const found = kind === 'manifests' ? manifests.get(reference) : blobs.get(reference)
    if (kind === 'manifests') requests.push(reference)
    if (request.url === '/v2/') response.end('{}')
    else if (!found) response.writeHead(404).end('{}')
    else {
      response.writeHead(200, {
        'content-type': kind === 'manifests' ? manifestType : 'application/octet-stream',
        'content-length': found.byteLength,
        'docker-content-digest': sha256(found),
      })
      response.end(request.method === 'HEAD' ? undefined : found)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    name: `127.0.0.1:${port}/base:stable`,
    asked: requests,
    publish(text) {
      const tar = tarOf(text)
      const architecture = process.arch === 'x64' ? 'amd64' : process.arch
      const config = {
        architecture,
        os: 'linux',
        config: { Cmd: ['/none'] },
        rootfs: { type: 'layers', diff_ids: [sha256(tar)] },
      }
      const manifest = Buffer.from(
        JSON.stringify({
          schemaVersion: 2,
          mediaType: manifestType,
          config: {
            mediaType: 'application/vnd.docker.container.image.v1+json',
            ...keep(Buffer.from(JSON.stringify(config))),
          },
          layers: [
            { mediaType: 'application/vnd.docker.image.rootfs.diff.tar.gzip', ...keep(gzipSync(tar)) },
          ],
        }),
      )
      manifests.set('stable', manifest)
      manifests.set(sha256(manifest), manifest)
      return sha256(manifest)
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}
