import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { createHarnessLoop } from '../harness/run-harness.ts'
import { createHarnessSessions } from '../harness/harness-sessions.ts'
import type { LoopState } from '../loop/loop-state.ts'
import type { RunMesh } from '../mesh/run-mesh.ts'
import { createScriptedModel } from '../llm/scripted-model.ts'
import { readLoopState } from '../loop/read-loop-state.ts'
import type { Tool } from '../tools/tool.ts'
import { aState, loopParts } from './loop-parts.ts'
import type { LoopChanges } from './loop-parts.ts'
import { quietLog } from './quiet-log.ts'

const support = resolve(import.meta.dirname, '../../../../tests/support')

/** A mesh that decides about permissions alone, and records what it was asked. */
export function permittingMesh(isAllowed: (body: JsonObject) => boolean = () => true) {
  const asked: JsonObject[] = []
  const reported: unknown[] = []
  const mesh: RunMesh = {
    call: async ({ endpoint, body }) => {
      if (endpoint.path === '/mesh/harness/tokens') return reported.push(body)
      if (endpoint.path !== '/mesh/harness/permission') throw new Error(`unexpected call ${endpoint.path}`)
      const question = body as JsonObject // the endpoint's own body
      asked.push(question)
      return { allowed: isAllowed(question), waits: false, reason: '' }
    },
    open: () => Promise.reject(new Error('the mesh is not part of this test')),
  }
  return { mesh, asked, reported }
}

/** Runs prompts in a harness for tests, with checkpoints as they would be on disk. */
export function harnessParts(
  options: {
    readonly tools?: readonly Tool[]
    readonly program?: string
    readonly args?: readonly string[]
    readonly directory?: string
    readonly conversation?: string
    readonly changes?: LoopChanges
  } = {},
) {
  const { tools = [], program = 'acp-harness.mjs', args = [] } = options
  const directory = options.directory ?? mkdtempSync(join(tmpdir(), 'harness-'))
  const command = [process.execPath, join(support, program), ...args]
  const loop = createHarnessLoop({
    program: {
      command,
      environment: { OF_HARNESS: 'set' },
      mode: 'careful',
      settings: { variable: 'FOLDER_OF_HARNESS', file: 'own/settings.json', content: 'by the agent' },
    },
    environment: { PATH: process.env['PATH'] ?? '', HOME: directory },
    directory,
    sessions: createHarnessSessions(directory),
    log: quietLog,
  })(options.conversation ?? 'main')
  const parts = loopParts(createScriptedModel([]), tools, {
    mesh: permittingMesh().mesh,
    ...options.changes,
  })
  return {
    ...parts,
    directory,
    run: (state: LoopState, signal: AbortSignal) => loop(parts.deps, state, signal),
  }
}

/** The lines that the harness for tests carries out. */
export function asked(...lines: readonly string[]): LoopState {
  return aState(lines.join('\n'))
}

/** The state after these messages, with one more request. */
export function nextTurn({ messages }: LoopState, runId: string, ...lines: readonly string[]): LoopState {
  const next = aState('')
  const request = { role: 'user' as const, content: sanitizeForPrompt(lines.join('\n')) }
  return { ...next, runId, messages: [...messages, request] }
}

/** The state that a new process finds in the last checkpoint. */
export function storedState(checkpoints: readonly string[]): LoopState {
  const state = readLoopState(JSON.parse(checkpoints.at(-1) ?? 'null'))
  if (state === null) throw new Error('there is no checkpoint')
  return state
}
