import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { flotilla } from '../support/flotilla-command.ts'

it('the demo does its job in a home of its own, also where FLOTILLA_HOME names one that was never started', async () => {
  const home = join(await mkdtemp(join(tmpdir(), 'flotilla-demo-')), 'never-started')
  const { code, out, err } = await flotilla({ home }, 'demo', '--runtime', 'process')
  expect(code, err).toBe(0)
  expect(out + err).toContain('The answer is right.')
})
