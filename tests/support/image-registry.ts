import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'

const sha256 = (bytes: Uint8Array) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`
const manifestType = 'application/vnd.docker.distribution.manifest.v2+json'

export interface ImageRegistry {
  /** `127.0.0.1:PORT/base:stable` */
  readonly name: string
  /** Points the tag at an image with this one file; returns its digest. Earlier images stay by digest. */
  publish(text: string): string
  /** Answers requests for this digest with the image of another one. */
  lieAbout(digest: string, other: string): void
  /** References of requested manifests. */
  readonly asked: string[]
  close(): Promise<void>
}

/** Refuses as the specification of registries says. */
function refuse(response: ServerResponse, status: 401 | 404, code: string): void {
  const message = code.toLowerCase().replaceAll('_', ' ')
  const login = status === 401 ? { 'www-authenticate': 'Basic realm="test"' } : {}
  response.writeHead(status, { 'content-type': 'application/json', ...login })
  response.end(JSON.stringify({ errors: [{ code, message, detail: null }] }))
}

/** An image registry on loopback, with which engines communicate without TLS. It requires the login if there is one. */
export async function startImageRegistry(
  tarOf: (text: string) => Uint8Array,
  login?: { readonly username: string; readonly password: string },
): Promise<ImageRegistry> {
  const required = login && `Basic ${Buffer.from(`${login.username}:${login.password}`).toString('base64')}`
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
    if (required !== undefined && request.headers.authorization !== required)
      refuse(response, 401, 'UNAUTHORIZED')
    else if (request.url === '/v2/') response.end('{}')
    else if (!found) refuse(response, 404, kind === 'manifests' ? 'MANIFEST_UNKNOWN' : 'BLOB_UNKNOWN')
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
            {
              mediaType: 'application/vnd.docker.image.rootfs.diff.tar.gzip',
              ...keep(gzipSync(tar, { level: 1 })),
            },
          ],
        }),
      )
      manifests.set('stable', manifest)
      manifests.set(sha256(manifest), manifest)
      return sha256(manifest)
    },
    lieAbout: (digest, other) => {
      const found = manifests.get(other)
      if (found !== undefined) manifests.set(digest, found)
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}
