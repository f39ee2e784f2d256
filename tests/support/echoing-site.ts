import { mkdtemp, rm } from 'node:fs/promises'
import { createSecureServer } from 'node:http2'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { makeCertificate } from './package-site.ts'

/** A site that says back which secrets it was sent, in a way that the path selects. */
export interface EchoingSite {
  readonly port: number
  /** The self-signed certificate, PEM. */
  readonly certificate: string
  /** The headers of each request. */
  readonly requests: Http2ServerRequest['headers'][]
  close(): Promise<void>
}

const escaped = (value: string) =>
  Array.from(value, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
const percent = (value: string) =>
  Array.from(Buffer.from(value), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')

/** How the site spells a secret in a body. */
const spellings: Readonly<Record<string, (value: string) => string | Buffer>> = {
  plain: (value) => value,
  base64: (value) => ['', 'a', 'ab'].map((at) => Buffer.from(`${at}${value}z`).toString('base64')).join(' '),
  basic: (value) => Buffer.from(`user:${value}`).toString('base64'),
  url: (value) => `${encodeURIComponent(value)} ${percent(value)}`,
  json: (value) => `${JSON.stringify(value)} ${escaped(value)}`,
}
/** How the site says what its body is; `none` says nothing. */
const types: Readonly<Record<string, string>> = {
  text: 'text/plain',
  json: 'application/json',
  bytes: 'application/octet-stream',
}
const codings: Readonly<Record<string, (text: string) => Buffer>> = {
  gzip: (text) => gzipSync(text),
  br: (text) => brotliCompressSync(text),
}

/** Every path at which the site answers. */
export const echoingPaths: readonly string[] = [
  ...['text', 'json', 'bytes', 'none'].flatMap((type) =>
    Object.keys(spellings).flatMap((spelling) => [
      `/whole/${type}/${spelling}`,
      `/split/${type}/${spelling}`,
    ]),
  ),
  ...Object.keys(codings).map((coding) => `/coded/${coding}`),
  '/header',
  '/name',
  '/coding',
  '/away',
  '/trailer',
]

/** `secrets` are said back together with `decoy`, which is no secret. Speaks HTTP/2 and HTTP/1.1. */
export async function startEchoingSite(
  host: string,
  { secrets, decoy }: { readonly secrets: readonly string[]; readonly decoy: string },
): Promise<EchoingSite> {
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-echo-'))
  const [key, certificate] = await makeCertificate(folder, host)
  const requests: EchoingSite['requests'] = []
  const plain = secrets.join(' ')

  async function answer(request: Http2ServerRequest, response: Http2ServerResponse): Promise<void> {
    requests.push(request.headers)
    const [, kind = '', one = '', spelling = ''] = new URL(request.url, 'https://site').pathname.split('/')
    if (kind === 'header')
      return void response.writeHead(200, { 'x-echo': plain, 'set-cookie': [`a=${plain}`] }).end(decoy)
    if (kind === 'name')
      return void response.writeHead(200, { [`x-${secrets[0]?.toLowerCase()}`]: '1' }).end(decoy)
    if (kind === 'coding') return void response.writeHead(200, { 'content-encoding': secrets[0] }).end(decoy)
    if (kind === 'away') return void response.writeHead(302, { location: `/?k=${percent(plain)}` }).end(decoy)
    if (kind === 'trailer') {
      response.writeHead(200, { trailer: 'x-echo' }).write(decoy)
      response.addTrailers({ 'x-echo': plain })
      return void response.end()
    }
    const code = codings[one]
    if (kind === 'coded' && code !== undefined) {
      const headers = { 'content-encoding': one, 'content-type': 'text/plain' }
      return void response.writeHead(200, headers).end(code(`${decoy} ${plain}`))
    }
    const spell = spellings[spelling] ?? (() => '')
    const type = types[one]
    response.writeHead(200, type === undefined ? {} : { 'content-type': type })
    const body = [decoy, ...secrets.map((value) => spell(value))].join(' ')
    if (kind === 'whole') return void response.end(body)
    // Each write is a chunk of its own, and most secrets begin in one and end in another.
    for (let at = 0; at < body.length; at += 7) {
      response.write(body.slice(at, at + 7))
      await nextTurn()
    }
    response.end()
  }

  const server = createSecureServer(
    { key, cert: certificate, allowHTTP1: true },
    (request, response) =>
      void answer(request, response).catch((error: unknown) => response.destroy(error as Error)),
  )
  const open = new Set<Socket>()
  server.on('connection', (socket: Socket) => open.add(socket.on('error', () => {})))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  return {
    port: (server.address() as AddressInfo).port,
    certificate,
    requests,
    close: async () => {
      for (const socket of open) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
      await rm(folder, { recursive: true, force: true })
    },
  }
}
