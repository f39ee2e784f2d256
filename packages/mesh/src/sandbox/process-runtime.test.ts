import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { systemClock } from '../system-clock.ts'
import { createProcessRuntime } from './process-runtime.ts'
import { sandboxRuntimeConformance, subjectHands, writeSubject } from './sandbox-runtime.conformance.ts'

sandboxRuntimeConformance('process', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'flotilla-process-'))
  const agentEntry = await writeSubject(directory)
  const open = async () => {
    const runtime = createProcessRuntime({
      dataRoot: join(directory, 'agents'),
      nodePath: process.execPath,
      agentEntry,
      path: '/usr/bin:/bin',
      clock: systemClock,
    })
    await runtime.prepare({ progress: () => {} })
    return runtime
  }
  const runtime = await open()
  return {
    runtime,
    again: open,
    ...subjectHands,
    close: async () => {
      for (const state of await runtime.list()) await runtime.remove(state.agentId, { data: true })
      await runtime.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
})
