import type { Clock } from '@flotilla/protocol/clock'
import type { JsonObject } from '@flotilla/protocol/json-value'
import type { McpServerStatus } from '@flotilla/protocol/mcp-api'
import type { McpBrief } from '@flotilla/protocol/mcp-servers'
import { Problem } from '@flotilla/protocol/problem'
import type { Log } from '@flotilla/protocol/json-log'
import type { RunMesh } from '../mesh/run-mesh.ts'
import { callProblem, cutReason, reasonOf } from './call-problem.ts'
import { describeTools } from './describe-tools.ts'
import type { DescribedTools, ServerTool } from './describe-tools.ts'
import { connectServer, statusOf } from './connect-server.ts'
import type { Connection, McpSdk } from './connect-server.ts'
import { writtenResult } from './written-messages.ts'
import type { WrittenResult } from './written-messages.ts'
import { failedAgain, formatFailures, noFailures, restLeftMs, wasStopped } from './server-failures.ts'

/** Pause between two readings of a list that the server reports as changed. */
const relistPauseMs = 2000

/** Refusals of the mesh before anything is sent: retried at each use, which costs nothing. */
const ownersRefusals: readonly Problem['code'][] = [
  'denied',
  'credential-unknown',
  'credential-refused',
  'destination-refused',
  'port-refused',
  'address-refused',
]

function isOwnersRefusal(met: unknown): boolean {
  return met instanceof Problem && ownersRefusals.includes(met.code)
}

export type ConnectionStatus = Pick<McpServerStatus, 'state' | 'detail' | 'protocol'>

/** One server of an agent, as long as its configuration does not change. */
export interface ServerConnection {
  readonly brief: McpBrief
  /** True if the server never failed, or only the mesh refused it: then a starting run waits for the server. */
  isHopeful(): boolean
  /** Starts the server unless it runs or is in cooldown after a failure; `now` skips the cooldown. Never rejects. */
  ensure(options?: { readonly now?: boolean }): Promise<void>
  /** Requests the server's tools again if they may have changed without a notification. */
  refresh(): void
  status(): ConnectionStatus
  /** The last known tools of the server, also while the server does not run. */
  tools(): readonly ServerTool[]
  /** Makes one call. Problems `upstream-failed`, `upstream-timeout`, `bad-request`, and those of the mesh. */
  call(tool: string, input: JsonObject, signal: AbortSignal): Promise<WrittenResult>
  /** Closes a connection that must not stay open after a run. */
  runEnded(): Promise<void>
  close(): Promise<void>
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
  let connection: Connection | null = null
  let starting: Promise<void> | null = null
  let described: DescribedTools = { tools: [], notes: [] }
  let failures = noFailures
  let ranSince: number | null = null
  let problem: Problem | null = null
  let relist: 'no' | 'now' | 'again' = 'no'

  function failed(met: unknown): void {
    const why = { reason: cutReason(reasonOf(met)), isRefusal: isOwnersRefusal(met) }
    failures = failedAgain(failures, { at: clock.now(), ranSince, ...why })
    const { count, reason } = failures
    log.warn(
      { server: brief.name, failures: count, retryInMs: restLeftMs(failures, clock.now()), reason },
      'failed to start an MCP server; the next run or call after the cooldown retries',
    )
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
          connectServer(
            { ...deps, sdk, onProblem: (met) => (problem = met), onToolsChanged: changed },
            signal,
          ),
        )
      const opened = await Promise.race([opening.then(keepUnlessLate), tooLate])
      take(opened)
    } catch (error) {
      if (isCutOff())
        log.info(
          { server: brief.name },
          'a run ended while an MCP server was being started; the next run starts it again',
        )
      else if (!closing.signal.aborted) failed(late.signal.aborted ? late.signal.reason : (problem ?? error))
    } finally {
      over.abort()
    }

    /** True if the start failed only because the run ended: a remote server's requests are part of a run. */
    function isCutOff(): boolean {
      const isOver = run?.ended?.aborted === true || deps.mesh() !== run
      return brief.kind === 'remote' && isOver && problem === null && !late.signal.aborted
    }

    /** Returns the connection, or closes it and throws if the attempt was aborted before. */
    async function keepUnlessLate(opened: Connection): Promise<Connection> {
      if (!signal.aborted) return opened
      await opened.close()
      throw signal.reason
    }
  }

  function take(opened: Connection): void {
    connection = opened
    ranSince = clock.now()
    failures = { ...failures, reason: null, isRefusal: false }
    described = describeTools(brief.name, opened.listed, brief.tools)
    // The SDK offers no other way to be notified.
    // oxlint-disable-next-line unicorn/prefer-add-event-listener
    opened.client.onclose = () => {
      if (connection !== opened) return
      connection = null
      failed(opened.ended() ?? 'the connection was closed')
    }
    onChanged()
  }

  /** However often a server reports a change, its list is read at most once per pause. */
  function changed(): void {
    if (relist !== 'no') relist = 'again'
    else void readList()
  }

  async function readList(): Promise<void> {
    do {
      relist = 'now'
      const current = connection
      try {
        const reply = await current?.client.listTools(undefined, {
          timeout: brief.startupTimeoutMs,
          signal: closing.signal,
          cacheMode: 'refresh',
        })
        if (reply && connection === current) {
          described = describeTools(brief.name, reply.tools, brief.tools)
          onChanged()
        }
      } catch (error) {
        log.warn(
          { server: brief.name, err: error },
          'failed to refresh the tools of an MCP server; using the previous list',
        )
      }
      await clock.sleep(relistPauseMs, closing.signal).catch(() => undefined)
    } while (hasChangedAgain() && !closing.signal.aborted)
    relist = 'no'
  }

  function hasChangedAgain(): boolean {
    return relist === 'again'
  }

  function ensure(options: { readonly now?: boolean } = {}): Promise<void> {
    if (connection || closing.signal.aborted) return Promise.resolve()
    const rests = failures.reason !== null && restLeftMs(failures, clock.now()) > 0
    if (!starting && options.now !== true && rests) return Promise.resolve()
    starting ??= begin().finally(() => {
      starting = null
    })
    return starting
  }

  async function closeConnection(): Promise<void> {
    const open = connection
    connection = null
    await open?.close()
  }

  return {
    brief,
    isHopeful: () => failures.count === 0 || failures.isRefusal,
    ensure,
    refresh: () => {
      if (connection && brief.kind === 'remote') changed()
    },
    tools: () => described.tools,
    status: () => {
      const notes = described.notes.join('; ')
      if (connection) {
        return {
          state: 'running',
          detail: notes,
          protocol: connection.client.getNegotiatedProtocolVersion() ?? null,
        }
      }
      if (starting) return { state: 'starting', detail: failures.reason ?? '', protocol: null }
      if (failures.reason === null)
        return { state: 'stopped', detail: 'the MCP server starts with the next run', protocol: null }
      return { state: 'failed', detail: formatFailures(failures, clock.now()), protocol: null }
    },
    call: async (tool, input, signal) => {
      await ensure()
      const current = connection
      if (!current) {
        throw new Problem('upstream-failed', {
          detail: `The MCP server ${brief.name} is not running: ${formatFailures(failures, clock.now())}.`,
        })
      }
      problem = null
      try {
        const timeout = brief.callTimeoutMs
        const limits = { signal, timeout, maxTotalTimeout: timeout }
        return writtenResult(await current.client.callTool({ name: tool, arguments: input }, limits))
      } catch (error) {
        signal.throwIfAborted()
        const lost = connection !== current
        // The other end has ended the session; the next call starts another.
        if (statusOf(error) === 404) await closeConnection()
        const ended = lost ? (failures.reason ?? wasStopped) : null
        throw problem ?? callProblem(brief, { error, ended })
      }
    },
    runEnded: async () => {
      if (connection?.listens === true) await closeConnection()
    },
    close: async () => {
      closing.abort(new Error('the MCP server is no longer needed'))
      await closeConnection()
      await starting
    },
  }
}
