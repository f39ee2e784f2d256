import { describe, expect, it } from 'vitest'
import { SandboxError, sandboxWords } from './sandbox-error.ts'
import { lastWords, runCommand } from './run-command.ts'

describe('what keeps a sandbox from being', () => {
  it('a failed start of a sandbox is split into detail and repair', () => {
    const error = new SandboxError('network-unusable', 'It is not.\nRepair: run\n  this\n  and that')
    expect(sandboxWords(error)).toEqual({ detail: 'It is not.', repair: 'run\n  this\n  and that' })
  })

  it('a failed start of a sandbox has a repair where the one that threw it named none', () => {
    for (const message of ['It is not.', 'It is not.\nRepair: ']) {
      expect(sandboxWords(new SandboxError('engine-refused', message)).repair).toContain('flotilla doctor')
    }
  })

  it('a failed start of a sandbox says how a program ended that said nothing', async () => {
    const silent = await runCommand('sh', ['-c', 'exit 3'], { timeoutMs: 20_000 })
    expect(lastWords(silent)).toBe('the command ended with exit code 3 without output')
  })
})
