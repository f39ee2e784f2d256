import { join } from 'node:path'
import type { HarnessProgram } from '@flotilla/protocol/harness-variable'
import { heartbeatSession } from '@flotilla/protocol/heartbeat-reply'
import type { Log } from '@flotilla/protocol/json-log'
import { stateFolder } from '../door-token.ts'
import { writeState } from '../files/state-file.ts'
import { fingerprint } from '../loop/fingerprint.ts'
import type { LoopDeps } from '../loop/loop-deps.ts'
import type { LoopState } from '../loop/loop-state.ts'
import { answerPermission } from './answer-permission.ts'
import { restOfMinuteMs } from './harness-sessions.ts'
import type { HarnessSessions } from './harness-sessions.ts'
import { openHarness } from './open-harness.ts'
import type { OpenHarness } from './open-harness.ts'
import type { PromptEnds } from './prompt-ends.ts'
import type { DividedTurn } from './prompt-texts.ts'
import { readUpdate } from './read-update.ts'
import type { TurnRecorder } from './record-turn.ts'
import type { MeshToolServer } from './serve-mesh-tools.ts'

export interface HarnessLoopParts {
  readonly program: HarnessProgram
  readonly environment: Readonly<Record<string, string>>
  readonly directory: string
  readonly sessions: HarnessSessions
  readonly log: Log
}

interface SessionWork {
  readonly conversation: string
  readonly deps: LoopDeps
  readonly state: LoopState
  readonly turn: DividedTurn
  readonly ends: PromptEnds
  readonly recorder: TurnRecorder
  readonly server: MeshToolServer
}

/** Writes the settings of the harness, which programs in the container may have changed since its last start. */
async function withSettings({ program, directory }: HarnessLoopParts): Promise<HarnessProgram> {
  const { settings } = program
  if (settings === undefined) return program
  const folder = join(directory, stateFolder, 'harness')
  await writeState(directory, join(folder, settings.file), settings.content)
  return { ...program, environment: { ...program.environment, [settings.variable]: folder } }
}

/** Starts the harness with the session of the conversation, which is on disk when this resolves. */
export async function openSession(
  parts: HarnessLoopParts,
  { conversation, deps, state, turn, ends, recorder, server }: SessionWork,
  signal: AbortSignal,
): Promise<{ readonly harness: OpenHarness; readonly isInterrupted: boolean }> {
  const { clock, mesh } = deps
  const command = fingerprint(JSON.stringify(parts.program.command))
  const known = await parts.sessions.find(conversation, command)
  const isInterrupted = known?.runId === state.runId
  // All heartbeats share a conversation, and each is a new session: it would grow without end. A conversation that
  // was reset has no earlier messages and begins a new session too.
  const isKept = turn.before.length > 0 && conversation !== heartbeatSession
  const continued = known !== null && (isInterrupted || isKept) ? known : null
  if (continued !== null && parts.program.continuesInNextMinute === true)
    await clock.sleep(restOfMinuteMs(continued, clock.now()), signal)
  let sessionId: string | null = null
  const startedAt = clock.now()
  const program = await withSettings(parts)
  const harness = await openHarness(
    {
      ...parts,
      program,
      clock,
      mcpServer: server.mcpServer,
      sessionId: continued?.sessionId ?? null,
      onUpdate: (params) => {
        ends.noteActivity()
        // Updates before the first prompt repeat an earlier conversation.
        const update = sessionId === null || !ends.isPrompting() ? null : readUpdate(params, sessionId)
        if (update !== null) recorder.take(update)
      },
      onPermission: async (params, answered) => {
        ends.noteActivity()
        const stopped = AbortSignal.any([answered, signal])
        return sessionId === null
          ? { outcome: 'cancelled' }
          : answerPermission(params, {
              mesh,
              sessionId,
              statedOf: recorder.statedOf,
              signal: stopped,
              onWait: ends.noteActivity,
            })
      },
    },
    signal,
  )
  sessionId = harness.sessionId
  try {
    await parts.sessions.save({
      conversation,
      sessionId,
      harness: command,
      runId: state.runId,
      openedAt: clock.now(),
    })
  } catch (error) {
    await harness.close()
    throw error
  }
  parts.log.info(
    { runId: state.runId, continues: harness.continues, readyMs: clock.now() - startedAt },
    'started the harness of a run; it has a session',
  )
  return { harness, isInterrupted }
}
