import type { Writable } from 'node:stream'
import * as z from 'zod/mini'
import type { Clock } from '@flotilla/protocol/clock'
import type { HarnessProgram } from '@flotilla/protocol/harness-variable'
import { Problem } from '@flotilla/protocol/problem'
import type {
  ClientConnection,
  InitializeRequest,
  PromptResponse,
  RequestPermissionResponse,
} from '@agentclientprotocol/sdk'
import { startPipedProgram } from '../programs/piped-program.ts'
import type { PipedProgram } from '../programs/piped-program.ts'
import { cleanAndCut } from '../tools/cut-middle.ts'
import { guardMessages } from './guard-messages.ts'
import { createTokenReports } from './reported-tokens.ts'
import type { ReportedTokens } from '@flotilla/protocol/harness-api'
import { messageMaxBytes, paceOutput } from './pace-output.ts'
import type { MeshToolServer } from './serve-mesh-tools.ts'

/** How long a harness may take from its start to its session: its first start may unpack and index files. */
const startMaxMs = 180_000
/** How long a harness may take to end a cancelled prompt before its processes are ended. */
const cancelGraceMs = 1500
/** How long the exit of a harness is awaited after its output has ended, so that the reason is known. */
const exitWaitMs = 500
const reasonMaxChars = 2000
/** The SDK's error for a connection whose other end has closed it. */
const closedMessage = 'ACP connection closed'
const idMaxChars = 500

export type StopReason = PromptResponse['stopReason']

export interface OpenHarness {
  readonly sessionId: string
  /** True if the session was continued, so that it knows the conversation before. */
  readonly continues: boolean
  /** Rejects with the Problem `harness-failed` if the harness answers with an error or ends. */
  prompt(texts: readonly string[]): Promise<StopReason>
  /** Returns what the harness has reported of ended prompts since the last call; null if nothing. */
  takeTokens(): ReportedTokens | null
  /** Asks the harness to end its prompt and waits for that, within a limit. */
  cancel(): Promise<void>
  close(): Promise<void>
}

export interface HarnessParts {
  readonly program: HarnessProgram
  readonly environment: Readonly<Record<string, string>>
  readonly directory: string
  readonly clock: Clock
  readonly mcpServer: MeshToolServer['mcpServer']
  /** The session to continue; null for a new one. */
  readonly sessionId: string | null
  readonly onUpdate: (params: unknown) => void
  readonly onPermission: (
    params: unknown,
    signal: AbortSignal,
  ) => Promise<RequestPermissionResponse['outcome']>
}

/** The harness uses its own files and terminals, inside its container. */
const aboutThisClient: Omit<InitializeRequest, 'protocolVersion'> = {
  clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
  clientInfo: { name: 'flotilla', version: '1' },
}

/**
 * Starts a harness and opens its session. A session that the harness cannot continue is replaced by a new one. Rejects
 * with the Problem `harness-failed`, or with the signal's reason; no process stays then.
 */
export async function openHarness(parts: HarnessParts, signal: AbortSignal): Promise<OpenHarness> {
  const { client, methods, ndJsonStream, PROTOCOL_VERSION } = await import('../parts/acp.ts')
  const [command = '', ...args] = parts.program.command
  const process = startPipedProgram({
    what: 'harness',
    command,
    args,
    environment: { ...parts.environment, ...parts.program.environment },
    directory: parts.directory,
    priority: 'program',
    clock: parts.clock,
  })
  const failed = (error: unknown): Promise<Problem> => harnessProblem(process, error, parts.clock)
  let connection: ClientConnection | null = null
  let prompting: Promise<unknown> | null = null
  const reports = createTokenReports(parts.onUpdate)
  const close = async (): Promise<void> => {
    connection?.close()
    await process.close()
  }
  try {
    await process.started
    const lines = ndJsonStream(writableTo(process.input), paceOutput(process.output, parts.clock), {
      maxMessageBytes: messageMaxBytes,
    })
    const permission = methods.client.session.requestPermission
    const stream = guardMessages(lines, { served: new Set([permission]), onUpdate: reports.onUpdate })
    const opened = client({ name: 'flotilla' })
      .onRequest(
        permission,
        (params: unknown) => params,
        async (context): Promise<RequestPermissionResponse> => ({
          outcome: await parts.onPermission(context.params, context.signal),
        }),
      )
      .connect(stream)
    connection = opened
    const { agent } = opened
    const within = <T>(answer: Promise<T>): Promise<T> => inTime(answer, parts.clock, signal)
    const begun = await within(
      agent.request(methods.agent.initialize, { protocolVersion: PROTOCOL_VERSION, ...aboutThisClient }),
    )
    if (begun.protocolVersion !== PROTOCOL_VERSION)
      throw new Error(`the harness speaks version ${begun.protocolVersion} of the Agent Client Protocol`)
    const place = { cwd: parts.directory, mcpServers: [parts.mcpServer] }
    const { loadSession, sessionCapabilities } = begun.agentCapabilities ?? {}
    const continued = async (sessionId: string): Promise<boolean> => {
      const canResume = (sessionCapabilities?.resume ?? null) !== null
      if (!canResume && loadSession !== true) return false
      const method = canResume ? methods.agent.session.resume : methods.agent.session.load
      return within(agent.request(method, { ...place, sessionId })).then(
        () => true,
        (error: unknown) => {
          if (signal.aborted || opened.signal.aborted) throw error
          return false
        },
      )
    }
    const { sessionId: known, program } = parts
    const continues = known !== null && (await continued(known))
    const sessionId =
      known !== null && continues
        ? known
        : sessionIdOf(await within(agent.request(methods.agent.session.new, place)))
    if (program.mode !== undefined)
      await within(agent.request(methods.agent.session.setMode, { sessionId, modeId: program.mode }))
    return {
      sessionId,
      continues,
      prompt: async (texts) => {
        reports.begin(sessionId)
        const asked = agent.request(methods.agent.session.prompt, {
          sessionId,
          prompt: texts.map((text) => ({ type: 'text', text })),
        })
        prompting = asked.then(reports.answered, () => undefined)
        try {
          return stopReasonOf(await asked)
        } catch (error) {
          throw await failed(error)
        }
      },
      takeTokens: reports.take,
      cancel: async () => {
        if (prompting === null) return
        const waited = new AbortController()
        await Promise.race([
          agent
            .notify(methods.agent.session.cancel, { sessionId })
            .then(() => prompting)
            .catch(() => undefined),
          parts.clock.sleep(cancelGraceMs, waited.signal).catch(() => undefined),
        ])
        waited.abort()
      },
      close,
    }
  } catch (error) {
    const problem = signal.aborted ? null : await failed(error)
    await close()
    signal.throwIfAborted()
    throw problem ?? error
  }
}

const newSessionSchema = z.looseObject({
  sessionId: z.string().check(z.minLength(1), z.maxLength(idMaxChars)),
})
const promptedSchema = z.looseObject({
  stopReason: z.enum(['end_turn', 'max_tokens', 'max_turn_requests', 'refusal', 'cancelled']),
})

/** The SDK declares the form of answers and does not check it. */
function sessionIdOf(answer: unknown): string {
  const parsed = newSessionSchema.safeParse(answer)
  if (!parsed.success) throw new Error('the harness named no session')
  return parsed.data.sessionId
}

function stopReasonOf(answer: unknown): StopReason {
  const parsed = promptedSchema.safeParse(answer)
  if (!parsed.success) throw new Error('the harness ended its turn with an answer of an unknown form')
  return parsed.data.stopReason
}

/** Resolves when the harness has read enough of what waits for it. */
function writableTo(input: Writable): WritableStream<Uint8Array> {
  return new WritableStream({
    write: (bytes) =>
      new Promise<void>((resolve, reject) => {
        const closed = (): void => reject(new Error('the harness does not read its input'))
        if (input.destroyed) return closed()
        if (input.write(bytes)) return resolve()
        input.once('close', closed)
        input.once('drain', () => {
          input.off('close', closed)
          resolve()
        })
      }),
    close: () => void input.end(),
  })
}

/** Rejects with the signal's reason, or if the answer does not come within the time for a start. */
async function inTime<T>(answer: Promise<T>, clock: Clock, signal: AbortSignal): Promise<T> {
  const done = new AbortController()
  const late = clock.sleep(startMaxMs, AbortSignal.any([done.signal, signal])).then(() => {
    throw new Error(`the harness did not open a session within ${startMaxMs / 1000} seconds`)
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    done.abort()
    late.catch(() => undefined)
  }
}

/** The end of the process says more than the end of its output; every other error names its own reason. */
async function harnessProblem(process: PipedProgram, error: unknown, clock: Clock): Promise<Problem> {
  const said = error instanceof Error ? error.message : String(error)
  if (said === closedMessage || process.ended() !== null) {
    const waited = new AbortController()
    await Promise.race([process.closed, clock.sleep(exitWaitMs, waited.signal).catch(() => undefined)])
    waited.abort()
  }
  const reason = said === closedMessage ? (process.ended() ?? said) : said
  return new Problem('harness-failed', { detail: cleanAndCut(reason, reasonMaxChars), cause: error })
}
