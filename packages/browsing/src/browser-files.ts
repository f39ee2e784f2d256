import { basename } from 'node:path'
import { browserLimits } from '@flotilla/protocol/browser-service-api'
import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import type { Reach } from '@flotilla/fleet/agents'

/** Reads files of the agent for uploads, and writes downloads to the agent's data. The agent checks the paths. */
export interface BrowserFiles {
  /** Rejects with the Problems of the agent, or `body-too-large` for more bytes than the browser accepts at once. */
  read(
    agentId: string,
    paths: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly { readonly name: string; readonly content_base64: string }[]>
  /** Stores a file and resolves to its path below the agent's data. */
  write(
    agentId: string,
    file: { readonly name: string; readonly content_base64: string },
    signal: AbortSignal,
  ): Promise<string>
}

const folder = 'downloads'
/** The maximum length of the name of a downloaded file, in characters. */
const nameMaxChars = 120

export function createBrowserFiles(deps: {
  readonly agents: Pick<Reach, 'reach'>
  readonly clock: Clock
}): BrowserFiles {
  return {
    read: async (agentId, paths, signal) => {
      const agent = await deps.agents.reach(agentId, signal)
      const files: { name: string; content_base64: string }[] = []
      let bytes = 0
      for (const path of paths) {
        const { content, giveBack } = await agent.readFile(path, signal)
        try {
          bytes += content.byteLength
          if (bytes > browserLimits.uploadMaxBytes) {
            throw new Problem('body-too-large', {
              detail: `an upload to a page may have at most ${browserLimits.uploadMaxBytes} bytes, all files together`,
            })
          }
          files.push({ name: basename(path), content_base64: Buffer.from(content).toString('base64') })
        } finally {
          giveBack()
        }
      }
      return files
    },
    write: async (agentId, { name, content_base64 }, signal) => {
      const agent = await deps.agents.reach(agentId, signal)
      const stamp = new Date(deps.clock.now()).toISOString().replace(/\D/g, '').slice(0, 17)
      const path = `${folder}/${stamp}-${safeName(name)}`
      await agent.writeFile(path, Buffer.from(content_base64, 'base64'), signal)
      return path
    },
  }
}

/** Returns a safe file name, made from a name that a page chose. Pure. */
export function safeName(name: string): string {
  const safe = name
    .normalize('NFC')
    .replace(/[^\p{L}\p{N}._-]+/gu, '_')
    .replace(/^[._]+/, '')
    .slice(-nameMaxChars)
  return safe === '' ? 'file' : safe
}
