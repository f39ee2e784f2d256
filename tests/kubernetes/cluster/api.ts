import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { fabric } from './layout.ts'

/** A refusal of the API server. */
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
  /** Sends a merge patch. */
  patch(path: string, body: object): Promise<unknown>
  /** Deletes an object; an object that does not exist is no error. */
  remove(path: string, body?: object): Promise<void>
}

/** Credentials of a client: a certificate with its key, or a token. */
export type ApiFiles =
  | { readonly authority: string; readonly certificate: string; readonly key: string }
  | { readonly authority: string; readonly token: string }

/** The few calls of the Kubernetes API that the tests make. */
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
            // Without this header Node sends the body of a DELETE without a length, and the server reads it as the
            // next request.
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
