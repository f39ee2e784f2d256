import { Problem } from '@flotilla/protocol/problem'
import { expect, it } from 'vitest'
import { keepTerminal } from '../fake-terminal.ts'
import { printUnpriced } from './ask-for-server.ts'

const failing = { call: () => Promise.reject(new Problem('agent-busy', { detail: 'the mesh is busy' })) }

it('a failed check after the server was saved is reported and does not undo the choice', async () => {
  const { terminal, err } = keepTerminal()
  const { signal } = new AbortController()
  await printUnpriced({ terminal, signal }, failing as never, 'openai/own')
  expect(err.text()).toContain('openai/own is saved.')
  expect(err.text()).toContain('the mesh is busy')
})

it('an interrupted command ends at its question', async () => {
  const { terminal } = keepTerminal()
  const signal = AbortSignal.abort(new Error('interrupted'))
  await expect(printUnpriced({ terminal, signal }, failing as never, 'openai/own')).rejects.toThrow(
    'interrupted',
  )
})
