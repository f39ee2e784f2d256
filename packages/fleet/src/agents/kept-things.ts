import { createHash } from 'node:crypto'
import { posix } from 'node:path'
import { imageTypeOf } from '@flotilla/protocol/image-type'
import { factNameSchema, keptLimits } from '@flotilla/protocol/kept-api'
import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { pictureNameSchema } from '@flotilla/protocol/shown-picture'
import { findWorkspaceFile } from '@flotilla/protocol/workspace-file'
import { actorOf } from '@flotilla/identity/access'
import type { Caller, Guard } from '@flotilla/identity/access'
import type { Journal } from '@flotilla/foundation/journal'
import { reachMaxMs } from '@flotilla/identity/kernel'
import type { SandboxRuntime } from '../sandbox/index.ts'
import type { AgentConnection, FactsQuery } from './connection/agent-connection.ts'
import type { AgentRegistry } from './administration/agent-registry.ts'
import type { FleetConnection } from './fleet.ts'
import { shownFact, shownFolder, shownTool } from './sanitize-shown.ts'

/** Size of the end of the process output from which log lines are read, bytes. */
const logMaxBytes = 256 * 1024

/**
 * Reads an agent's files, memory, tools and log for people who may view the fleet. All of it is untrusted output of
 * the agent. A hibernated agent is started, an archived agent is not. Problems `unknown-agent`, `agent-archived`,
 * `agent-quarantined`, `agent-unavailable`.
 */
export function createKeptThings(deps: {
  readonly guard: Guard
  readonly journal: Journal
  readonly runtime: Pick<SandboxRuntime, 'logs'>
  readonly fleet: Pick<AgentRegistry, 'require' | 'requireWorking'> & Pick<FleetConnection, 'reach'>
}) {
  const { guard, journal, runtime, fleet } = deps

  async function asking<T>(
    agentId: string,
    ask: (connection: AgentConnection, signal: AbortSignal) => Promise<T>,
    gone?: AbortSignal,
  ): Promise<T> {
    fleet.requireWorking(agentId, 'waits')
    const late = AbortSignal.timeout(reachMaxMs)
    const signal = gone ? AbortSignal.any([late, gone]) : late
    return ask(await fleet.reach(agentId, signal), signal)
  }

  return {
    identityFiles: async (caller: Caller, agentId: string) => {
      guard(caller, { do: 'view-fleet' })
      return { files: await asking(agentId, (connection, signal) => connection.workspaceFiles(signal)) }
    },
    /** Returns an identity file. Problem `not-found` for any other name. */
    identityFile: async (caller: Caller, agentId: string, name: string) => {
      guard(caller, { do: 'view-fleet' })
      if (!findWorkspaceFile(name))
        throw new Problem('not-found', {
          detail: 'no workspace file has this name; flotilla edit --help lists them',
        })
      const content = await asking(agentId, (connection, signal) =>
        connection.readWorkspaceFile(name, signal),
      )
      return { name, content: sanitizeForPrompt(content) }
    },
    folder: async (caller: Caller, agentId: string, path: string) => {
      guard(caller, { do: 'view-fleet' })
      return shownFolder(await asking(agentId, (connection, signal) => connection.listFolder(path, signal)))
    },
    /**
     * Returns a file whose bytes count as memory in use until released. Problems `not-found`, `path-refused`,
     * `body-too-large`, `rate-limited`.
     */
    file: async (
      caller: Caller,
      agentId: string,
      { path, gone }: { readonly path: string; readonly gone: AbortSignal },
    ) => {
      guard(caller, { do: 'view-fleet' })
      const file = await asking(agentId, (connection, signal) => connection.readFile(path, signal), gone)
      return { name: downloadName(path), ...file }
    },
    /**
     * Returns a picture that the agent viewed, if it has an image type without scripts; its bytes count as memory in
     * use until released. Other files count as missing. Problems `not-found`, `rate-limited`.
     */
    picture: async (
      caller: Caller,
      agentId: string,
      { sha256, gone }: { readonly sha256: string; readonly gone: AbortSignal },
    ) => {
      guard(caller, { do: 'view-fleet' })
      const missing = new Problem('not-found', {
        detail: 'the agent does not have this picture, or no longer has it',
        repair: 'An agent keeps only the newest pictures that it viewed; ask it to view the picture again.',
      })
      if (!pictureNameSchema.safeParse(sha256).success) throw missing
      const file = await asking(agentId, (connection, signal) => connection.readPicture(sha256, signal), gone)
      const type = imageTypeOf(file.content)
      if (type !== null && createHash('sha256').update(file.content).digest('hex') === sha256) {
        return { type, ...file }
      }
      file.giveBack()
      throw missing
    },
    facts: async (caller: Caller, agentId: string, query: FactsQuery) => {
      guard(caller, { do: 'view-fleet' })
      const found = await asking(agentId, (connection, signal) => connection.facts(query, signal))
      return { ...found, facts: found.facts.map(shownFact) }
    },
    /**
     * Deletes a fact. The audit log records the request first, without the fact's text. Problem `bad-request` for an
     * invalid name of a fact.
     */
    forgetFact: async (caller: Caller, agentId: string, fact: string) => {
      guard(caller, { do: 'manage-agent', agentId })
      if (!factNameSchema.safeParse(fact).success)
        throw new Problem('bad-request', { detail: 'a fact is named like fact_12' })
      return asking(agentId, async (connection, signal) => {
        journal.append({
          actor: actorOf(caller),
          action: 'memory.forgotten',
          subject: agentId,
          detail: { fact },
        })
        return { id: fact, was_there: await connection.forgetFact(fact, signal) }
      })
    },
    tools: async (caller: Caller, agentId: string) => {
      guard(caller, { do: 'view-fleet' })
      const tools = await asking(agentId, (connection, signal) => connection.tools(signal))
      return { tools: tools.map(shownTool) }
    },
    /** Returns log lines without starting the agent, because an ended sandbox has a log too. */
    logs: async (caller: Caller, agentId: string, lines: number) => {
      guard(caller, { do: 'view-fleet' })
      fleet.require(agentId)
      return { lines: lastLines(await runtime.logs(agentId, logMaxBytes), lines) }
    },
  }
}

export type KeptThings = ReturnType<typeof createKeptThings>

/** Returns the last `max` lines without terminal control sequences. Pure. */
export function lastLines(text: string, max: number): readonly string[] {
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines.slice(-Math.min(max, keptLimits.logLinesMax)).map((line) => sanitizeForPrompt(line))
}

/** Returns the file name for a browser download: plain characters, so that no name can inject a header. Pure. */
export function downloadName(path: string): string {
  const name = posix
    .basename(path)
    .replace(/[^A-Za-z0-9._-]/g, '_')
    .slice(-100)
  return /[A-Za-z0-9]/.test(name) ? name : 'file'
}
