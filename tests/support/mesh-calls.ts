import { fillPath } from '@flotilla/protocol/endpoint'
import type { Endpoint } from '@flotilla/protocol/endpoint'
import { headers as headerNames } from '@flotilla/protocol/headers'
import { operatorAgentId } from '@flotilla/protocol/ids'
import { meshHumanApi, meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { isTerminal, runViewSchema } from '@flotilla/protocol/run'
import type { RunView } from '@flotilla/protocol/run'
import type { TaskView } from '@flotilla/protocol/task'
import { eventually } from './eventually.ts'
import { httpCall } from './http-call.ts'
import type { Reply } from './http-call.ts'
import { patient } from './patience.ts'

export interface CallOptions {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | number>>
  /** Sent as JSON, unless the value is a text or bytes. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly timeoutMs?: number
  /** Whether to reuse an open connection; by default, GET calls without own headers do. */
  readonly reuses?: boolean
}

export interface AskOptions {
  readonly agent?: string
  readonly session?: string
  readonly key?: string
}

/** Calls to the people's API of a mesh, as a person on this machine makes them. */
export interface MeshCalls {
  readonly url: string
  call(endpoint: Endpoint, options?: CallOptions): Promise<Reply>
  /** Runs one chat turn and returns its outcome. Asks the operator unless another agent is given. */
  ask(message: string, options?: AskOptions): Promise<RunView>
  /** Starts a chat turn and disconnects once the run is stored; returns the run id. */
  submit(message: string, options?: AskOptions): Promise<string>
  /** Runs a tool of an agent without a model. */
  invoke(agent: string, tool: string, params: object): Promise<RunView>
  createWorker(id: string, more?: object): Promise<void>
  run(id: string): Promise<RunView>
  runs(limit?: number): Promise<readonly RunView[]>
  tasks(): Promise<readonly TaskView[]>
  /** Waits until the run has ended. */
  ended(id: string, boundMs?: number): Promise<RunView>
}

/** `always` are headers that every call sends, such as a session. */
export function meshCalls(url: () => string, always: Readonly<Record<string, string>> = {}): MeshCalls {
  const call: MeshCalls['call'] = (endpoint, options = {}) => {
    const query = new URLSearchParams(
      Object.entries(options.query ?? {}).map(([name, value]) => [name, String(value)]),
    ).toString()
    const { body } = options
    const raw = body === undefined || typeof body === 'string' || body instanceof Uint8Array
    const type = body instanceof Uint8Array ? 'application/octet-stream' : 'application/json'
    const address = `${url()}${fillPath(endpoint.path, options.params ?? {})}${query === '' ? '' : `?${query}`}`
    return httpCall({
      method: endpoint.method,
      url: address,
      headers: {
        [headerNames.requestedWith]: 'test',
        ...(body === undefined ? {} : { 'content-type': type }),
        ...always,
        ...options.headers,
      },
      body: raw ? body : JSON.stringify(body),
      // Tests poll often, and for each new connection the mesh asks the kernel which user opened it.
      reuses: options.reuses ?? (endpoint.method === 'GET' && options.headers === undefined),
      ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
    })
  }

  async function good(endpoint: Endpoint, options: CallOptions = {}): Promise<Record<string, unknown>> {
    const reply = await call(endpoint, options)
    if (reply.status >= 300)
      throw new Error(`${endpoint.method} ${endpoint.path}: ${reply.status} ${reply.text}`)
    return reply.json()
  }

  const chat = (message: string, options: AskOptions) => ({
    params: { id: options.agent ?? operatorAgentId },
    body: { message, session: options.session ?? 'default' },
    headers: options.key === undefined ? {} : { [headerNames.idempotencyKey]: options.key },
  })
  const run = async (id: string): Promise<RunView> =>
    runViewSchema.parse(await good(meshHumanEndpoints.run, { params: { id } }))

  return {
    get url() {
      return url()
    },
    call,
    run,
    ask: async (message, options = {}) =>
      runViewSchema.parse(
        await good(meshHumanEndpoints.chat, { ...chat(message, options), timeoutMs: patient(280_000) }),
      ),
    submit: (message, options = {}) => {
      const { headers, ...given } = chat(message, options)
      return acceptedRun(url(), { ...given, headers: { ...always, ...headers } })
    },
    invoke: async (agent, tool, params) =>
      runViewSchema.parse(
        await good(meshHumanEndpoints.invoke, {
          params: { id: agent },
          body: { tool, params },
          timeoutMs: patient(280_000),
        }),
      ),
    createWorker: async (id, more = {}) => {
      await good(meshHumanEndpoints.agentCreate, { body: { id, role: 'Works in a test.', ...more } })
    },
    runs: async (limit = 200) =>
      meshHumanApi.runs.response.parse(await good(meshHumanEndpoints.runs, { query: { limit } })).runs,
    tasks: async () =>
      meshHumanApi.tasks.response.parse(await good(meshHumanEndpoints.tasks, { query: { limit: 200 } }))
        .tasks,
    ended: (id, boundMs = 90_000) =>
      eventually(
        `run ${id} ends`,
        async () => {
          const view = await run(id)
          return isTerminal(view.state) ? view : null
        },
        boundMs,
      ),
  }
}

/** Posts as a client of the stream and disconnects after the first frame, which names the run. */
async function acceptedRun(
  url: string,
  chat: {
    readonly params: { readonly id: string }
    readonly body: object
    readonly headers: Record<string, string>
  },
): Promise<string> {
  const leave = new AbortController()
  const reply = await fetch(`${url}${fillPath(meshHumanEndpoints.chat.path, chat.params)}`, {
    method: meshHumanEndpoints.chat.method,
    headers: {
      [headerNames.requestedWith]: 'test',
      'content-type': 'application/json',
      accept: 'text/event-stream',
      ...chat.headers,
    },
    body: JSON.stringify(chat.body),
    signal: leave.signal,
  })
  if (!reply.ok || !reply.body) throw new Error(`chat was refused: ${reply.status} ${await reply.text()}`)
  let text = ''
  const decoder = new TextDecoder()
  const reader = reply.body.getReader()
  try {
    for (;;) {
      const id = /"run_id":"([^"]+)"/.exec(text)?.[1]
      if (id !== undefined) return id
      const part = await reader.read()
      if (part.done) throw new Error(`the stream ended before it named a run: ${text}`)
      text += decoder.decode(part.value, { stream: true })
    }
  } finally {
    leave.abort()
  }
}
