import type { Clock } from '@flotilla/protocol/clock'
import type { JsonObject } from '@flotilla/protocol/json-value'
import type { McpServerStatus } from '@flotilla/protocol/mcp-api'
import type { McpBrief } from '@flotilla/protocol/mcp-servers'
import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt, truncatePromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { Log } from '../log.ts'
import type { RunMesh } from '../mesh/run-mesh.ts'
import { describeTools } from './describe-tools.ts'
import type { DescribedTools, ServerTool } from './describe-tools.ts'
import { openLine, statusOf } from './open-line.ts'
import type { Line, McpSdk } from './open-line.ts'
import { restMs, steadyMs } from './rest-between-starts.ts'

/** Between two looks at a list that its server calls changed. */
const relistPauseMs = 2000
const failureMaxChars = 600
/** JSON-RPC: the parameters are not what the tool takes. */
const invalidParameters = -32_602

export type ConnectionStatus = Pick<McpServerStatus, 'state' | 'detail' | 'protocol'>

/** One server of an agent, for as long as it is configured as it is. */
export interface ServerConnection {
  readonly brief: McpBrief
  /** True where it never failed: worth waiting for when a run begins. */
  isHopeful(): boolean
  /** Starts it unless it stands or rests after a failure; `now` does not wait for the rest. Never rejects. */
  ensure(options?: { readonly now?: boolean }): Promise<void>
  /** Asks again for its tools where they may have changed unheard. */
  look(): void
  status(): ConnectionStatus
  /** As it last said, also while it does not run. */
  tools(): readonly ServerTool[]
  /** Calls once. Problems `upstream-failed`, `upstream-timeout`, `bad-request`, and those of the mesh. */
  call(tool: string, input: JsonObject, signal: AbortSignal): Promise<CallResult>
  /** Lets go of what no run may leave behind. */
  runEnded(): Promise<void>
  close(): Promise<void>
}

export interface CallResult {
  readonly content?: unknown
  readonly structuredContent?: unknown
  readonly isError?: boolean | undefined
}

export interface ConnectionDeps {
  readonly loadSdk: () => Promise<McpSdk>
  readonly brief: McpBrief
  readonly mesh: () => RunMesh | null
  readonly environment: Readonly<Record<string, string>>
  readonly directory: string
  readonly clock: Clock
  readonly log: Log
  readonly onChanged: () => void
}

export function createServerConnection(deps: ConnectionDeps): ServerConnection {
  const { brief, clock, log, onChanged } = deps
  const closing = new AbortController()
  let line: Line | null = null
  let starting: Promise<void> | null = null
  let described: DescribedTools = { tools: [], notes: [] }
  let failure: string | null = null
  let failures = 0
  let failedAt = 0
  let stoodAt = 0
  let problem: Problem | null = null
  let relist: 'no' | 'now' | 'again' = 'no'

  function failed(words: string): void {
    failures = stoodAt > 0 && clock.now() - stoodAt > steadyMs ? 1 : failures + 1
    failedAt = clock.now()
    failure = truncatePromptText(sanitizeForPrompt(words), failureMaxChars, ' [cut]')
    log.warn({ server: brief.name, failures, reason: failure }, 'an MCP server does not run')
    onChanged()
  }

  async function begin(): Promise<void> {
    const over = new AbortController()
    const late = new AbortController()
    const signal = AbortSignal.any([late.signal, closing.signal])
    problem = null
    const run = deps.mesh()
    const seconds = brief.startupTimeoutMs / 1000
    const tooLate = clock.sleep(brief.startupTimeoutMs, over.signal).then(
      () => {
        const error = new Error(`no answer within ${seconds} s`)
        late.abort(error)
        throw error
      },
      () => new Promise<never>(() => undefined),
    )
    try {
      const opening = deps
        .loadSdk()
        .then((sdk) =>
          openLine({ ...deps, sdk, onProblem: (met) => (problem = met), onToolsChanged: changed }, signal),
        )
      const opened = await Promise.race([opening.then(keepUnlessLate), tooLate])
      take(opened)
    } catch (error) {
      if (isCutOff())
        log.info({ server: brief.name }, 'a run ended as an MCP server was started; the next starts it again')
      else if (!closing.signal.aborted)
        failed(reasonOf(late.signal.aborted ? late.signal.reason : (problem ?? error)))
    } finally {
      over.abort()
    }

    /** Its requests belong to the run that was under way: that this ended says nothing of the server. */
    function isCutOff(): boolean {
      const isOver = run?.ended?.aborted === true || deps.mesh() !== run
      return brief.kind === 'remote' && isOver && problem === null && !late.signal.aborted
    }

    /** One that stands up when nobody waits for it any more is let go. */
    async function keepUnlessLate(opened: Line): Promise<Line> {
      if (!signal.aborted) return opened
      await opened.close()
      throw signal.reason
    }
  }

  function take(opened: Line): void {
    line = opened
    stoodAt = clock.now()
    failure = null
    described = describeTools(brief.name, opened.listed, brief.tools)
    // The SDK knows no other way to hear of it.
    // oxlint-disable-next-line unicorn/prefer-add-event-listener
    opened.client.onclose = () => {
      if (line !== opened) return
      line = null
      failed(opened.ended() ?? 'the connection was closed')
    }
    onChanged()
  }

  /** However often a server says so, its list is read at most once in a pause. */
  function changed(): void {
    if (relist !== 'no') relist = 'again'
    else void readList()
  }

  async function readList(): Promise<void> {
    do {
      relist = 'now'
      const current = line
      try {
        const reply = await current?.client.listTools(undefined, {
          timeout: brief.startupTimeoutMs,
          signal: closing.signal,
          cacheMode: 'refresh',
        })
        if (reply && line === current) {
          described = describeTools(brief.name, reply.tools, brief.tools)
          onChanged()
        }
      } catch (error) {
        log.warn({ server: brief.name, err: error }, 'an MCP server does not list its tools')
      }
      await clock.sleep(relistPauseMs, closing.signal).catch(() => undefined)
    } while (hasChangedAgain() && !closing.signal.aborted)
    relist = 'no'
  }
  const hasChangedAgain = (): boolean => relist === 'again'

  const restLeftMs = (): number => Math.max(0, failedAt + restMs(failures) - clock.now())

  function ensure(options: { readonly now?: boolean } = {}): Promise<void> {
    if (line || closing.signal.aborted) return Promise.resolve()
    if (!starting && options.now !== true && failure !== null && restLeftMs() > 0) return Promise.resolve()
    starting ??= begin().finally(() => {
      starting = null
    })
    return starting
  }

  async function letGo(): Promise<void> {
    const open = line
    line = null
    await open?.close()
  }

  return {
    brief,
    isHopeful: () => failures === 0,
    ensure,
    look: () => {
      if (line && brief.kind === 'remote') changed()
    },
    tools: () => described.tools,
    status: () => {
      const notes = described.notes.join('; ')
      if (line) {
        return {
          state: 'running',
          detail: notes,
          protocol: line.client.getNegotiatedProtocolVersion() ?? null,
        }
      }
      if (starting) return { state: 'starting', detail: failure ?? '', protocol: null }
      if (failure === null) return { state: 'stopped', detail: 'it starts with the next run', protocol: null }
      return { state: 'failed', detail: `${failure}${againWords(restLeftMs())}`, protocol: null }
    },
    call: async (tool, input, signal) => {
      await ensure()
      const current = line
      if (!current) {
        throw new Problem('upstream-failed', {
          detail: `The MCP server ${brief.name} does not run: ${failure ?? 'it was stopped'}${againWords(restLeftMs())}.`,
        })
      }
      problem = null
      try {
        const timeout = brief.callTimeoutMs
        return await current.client.callTool(
          { name: tool, arguments: input },
          { signal, timeout, maxTotalTimeout: timeout },
        )
      } catch (error) {
        signal.throwIfAborted()
        const lost = line !== current
        // The session is over at the other end; the next call begins another.
        if (statusOf(error) === 404) await letGo()
        throw problem ?? callProblem(brief, { error, ended: lost ? (failure ?? 'it was stopped') : null })
      }
    },
    runEnded: async () => {
      if (line?.listens === true) await letGo()
    },
    close: async () => {
      closing.abort(new Error('the MCP server is not needed any more'))
      await letGo()
      await starting
    },
  }
}

function callProblem(
  brief: McpBrief,
  met: { readonly error: unknown; readonly ended: string | null },
): Problem {
  const { name } = brief
  if (met.ended !== null) {
    return new Problem('outcome-unknown', {
      detail: `The MCP server ${name} ended during the call, and what the call did is not known: ${met.ended}.`,
    })
  }
  const said = truncatePromptText(sanitizeForPrompt(reasonOf(met.error)), failureMaxChars, ' [cut]')
  const code =
    typeof met.error === 'object' && met.error !== null && 'code' in met.error ? met.error.code : null
  if (code === 'REQUEST_TIMEOUT') {
    return new Problem('outcome-unknown', {
      detail: `The MCP server ${name} did not answer within ${brief.callTimeoutMs / 1000} s; what the call did is not known.`,
    })
  }
  // An answer has a number of the protocol or a status; without one the line broke, and the call may have been made.
  if (typeof code !== 'number' && statusOf(met.error) === 0) {
    return new Problem('outcome-unknown', {
      detail: `The MCP server ${name} gave no whole answer, and what the call did is not known: ${said}`,
    })
  }
  return new Problem(code === invalidParameters ? 'bad-request' : 'upstream-failed', {
    detail: `The MCP server ${name} refused the call: ${said}`,
  })
}

function againWords(leftMs: number): string {
  return leftMs > 0
    ? `; it may be started again in ${Math.ceil(leftMs / 1000)} s`
    : '; the next use starts it again'
}

function reasonOf(thrown: unknown): string {
  if (thrown instanceof Problem) return `${thrown.code}: ${thrown.detail}`
  return thrown instanceof Error ? thrown.message : String(thrown)
}
