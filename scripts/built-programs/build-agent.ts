import { join } from 'node:path'
import type { FileStamp, ProgramRecord } from '@flotilla/protocol/built-program'
import { agentFiles } from '../../packages/fleet/src/sandbox/image/bundle-agent.ts'
import { existing, recordBuild } from './build-program.ts'

/**
 * Bundles the agent into the same files that containers get, for agents that are plain processes, and writes the
 * record with which later agents start from the bundle. Rejects with the errors of the bundler, or if a source was
 * written during the build.
 */
export async function buildAgent(root: string): Promise<ProgramRecord> {
  const beganMs = Date.now()
  const files = await agentFiles(join(root, 'packages', 'agent', 'src', 'main.ts'))
  const inputs = new Map<string, FileStamp>()
  const sources = files
    .flatMap((file) => file.inputs)
    .filter((path) => path.startsWith(join(root, 'packages')))
  for (const path of [...sources, join(root, 'package-lock.json'), import.meta.filename]) {
    const stamp = existing(path)
    if (stamp[1] >= beganMs) throw new Error(`${path} was written while the agent was built`)
    inputs.set(path, stamp)
  }
  const contents = files.map(({ name, content }) => ({ name, contents: content }))
  return recordBuild(root, { name: 'agent', main: 'agent.cjs', files: contents, inputs })
}
