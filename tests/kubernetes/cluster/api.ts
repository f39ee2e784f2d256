import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { fabric } from './layout.ts'

/** What the API server said no with. */
export class ApiRefusal extends Error {
  override readonly name = 'ApiRefusal'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export interface Api {
  get(path: string): Promise<unknown>
  create(path: string, body: object): Promise<unknown>
  /** As a merge patch. */
  patch(path: string, body: object): Promise<unknown>
  /** One that is not there is no error. */
  remove(path: string, body?: object): Promise<void>
}

/** Whom the server takes us for: the owner of a certificate, or of a token. */
export type ApiFiles =
  | { readonly authority: string; readonly certificate: string; readonly key: string }
  | { readonly authority: string; readonly token: string }

/** The few calls that the tests make, over one connection each at most. */
export function openApi(files: ApiFiles): Api {
  const agent = new Agent({
    ca: readFileSync(files.authority),
    ...('token' in files ? {} : { cert: readFileSync(files.certificate), key: readFileSync(files.key) }),
    keepAlive: true,
  })

  function call(method: string, path: string, body?: object): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const asking = request(
        {
          host: fabric.address,
          port: fabric.apiPort,
          method,
          path,
          agent,
          headers: {
            ...('token' in files ? { authorization: `Bearer ${files.token}` } : {}),
            // Where nobody says it, what a DELETE carries is read as the next request.
            ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(JSON.stringify(body)) }),
            'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
          },
        },
        (reply) => {
          let text = ''
          reply.setEncoding('utf8').on('data', (piece: string) => {
            text += piece
          })
          reply.on('error', reject)
          reply.on('end', () => {
            const status = reply.statusCode ?? 0
            if (status >= 300)
              reject(new ApiRefusal(status, `${method} ${path}: ${status} ${text.slice(0, 600)}`))
            else resolve(isJson(reply.headers['content-type']) ? JSON.parse(text) : text)
          })
        },
      )
      asking.on('error', reject)
      asking.end(body === undefined ? undefined : JSON.stringify(body))
    })
  }

  return {
    get: (path) => call('GET', path),
    create: (path, body) => call('POST', path, body),
    patch: (path, body) => call('PATCH', path, body),
    async remove(path, body) {
      await call('DELETE', path, body).catch((error: unknown) => {
        if (!(error instanceof ApiRefusal && error.status === 404)) throw error
      })
    },
  }
}

const isJson = (type: string | undefined): boolean => type?.startsWith('application/json') === true
