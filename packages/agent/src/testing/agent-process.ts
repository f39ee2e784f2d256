import type { ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeMeshKey } from './mesh-proof.ts'
import type { MeshKey } from './mesh-proof.ts'

export const doorToken = 'door-token-of-this-test'

export interface Reply {
  readonly status: number
  readonly body: string
  readonly type: string
  json(): Record<string, unknown>
}

export interface TestAgent {
  readonly id: string
  readonly child: ChildProcess
  readonly port: number
  readonly data: string
  readonly key: MeshKey
  log(): string
  /** Calls the agent with a valid proof, or with the one given; null for no proof. */
  call(method: string, path: string, options?: { body?: unknown; proof?: string | null }): Promise<Reply>
  stop(name?: NodeJS.Signals): Promise<number | null>
}

export function makeDataDirectory(): string {
  return mkdtempSync(join(tmpdir(), 'agent-'))
}

/** Starts main.ts as a process of its own, as the mesh does: settings by environment, token by file. */
export async function startAgent(options: {
  /** Starts the program with exactly that environment and piped outputs. */
  spawnMain: (environment: Record<string, string>) => ChildProcess
  meshUrl: string
  data?: string
  key?: MeshKey
  environment?: Record<string, string>
}): Promise<TestAgent> {
  const id = 'worker-1'
  const data = options.data ?? makeDataDirectory()
  const key = options.key ?? makeMeshKey()
  const briefing = join(data, 'briefing')
  mkdirSync(briefing, { recursive: true })
  writeFileSync(join(briefing, 'door-token'), doorToken)
  const child = options.spawnMain({
    FLOTILLA_AGENT_ID: id,
    FLOTILLA_AGENT_ROLE: 'tester',
    FLOTILLA_AGENT_KIND: 'worker',
    FLOTILLA_MESH_URL: options.meshUrl,
    FLOTILLA_MODEL: 'scripted/test',
    FLOTILLA_MESH_PUBLIC_KEY: key.publicKey,
    FLOTILLA_PORT: '0',
    FLOTILLA_DATA: data,
    FLOTILLA_BRIEFING: briefing,
    ...options.environment,
  })
  let log = ''
  const exited = new Promise<number | null>((resolve) => {
    child.once('exit', (code) => resolve(code))
  })
  const port = await new Promise<number>((resolve, reject) => {
    const hear = (piece: Buffer): void => {
      log += piece.toString()
      const found = /"port":(\d+)/.exec(log)?.[1]
      if (found !== undefined) resolve(Number(found))
    }
    child.stdout?.on('data', hear)
    child.stderr?.on('data', hear)
    void exited.then((code) => reject(new Error(`the agent ended with ${code}: ${log}`)))
  })
  return {
    id,
    child,
    port,
    data,
    key,
    log: () => log,
    call: (method, path, { body, proof } = {}) =>
      send({ port, method, path, body, authorization: proof === undefined ? key.proofFor(id) : proof }),
    stop: (name = 'SIGTERM') => {
      child.kill(name)
      return exited
    },
  }
}

/** Sends one raw request: the path is not normalized, and a text body is sent unchanged. */
export function send(call: {
  port: number
  method: string
  path: string
  body: unknown
  authorization: string | null
}): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const { port, method, path } = call
    const headers = call.authorization === null ? {} : { authorization: call.authorization }
    const sent = request({ host: '127.0.0.1', port, method, path, headers }, (reply) => {
      const chunks: Buffer[] = []
      reply.on('data', (chunk: Buffer) => chunks.push(chunk))
      reply.on('end', () => {
        const body = Buffer.concat(chunks).toString()
        const type = reply.headers['content-type'] ?? ''
        resolve({
          status: reply.statusCode ?? 0,
          body,
          type,
          json: () => JSON.parse(body) as Record<string, unknown>,
        })
      })
    })
    sent.on('error', reject)
    if (typeof call.body === 'string' || call.body instanceof Uint8Array) sent.end(call.body)
    else sent.end(call.body === undefined ? undefined : JSON.stringify(call.body))
  })
}
