import { expect, test } from 'vitest'
import { askedRuntime, runtimeWords } from './runtime-options.ts'

const asked = (options: Record<string, string>) => askedRuntime({ operands: [], options })

test('a place in a cluster means that agents live there', () => {
  expect(asked({}).runtime).toBeUndefined()
  expect(asked({ context: 'prod' }).runtime).toBe('kubernetes')
  expect(runtimeWords(asked({ namespace: 'fleet' }))).toEqual([
    '--runtime',
    'kubernetes',
    '--namespace',
    'fleet',
  ])
  expect(runtimeWords(asked({ runtime: 'process' }))).toEqual(['--runtime', 'process'])
})

test.each(['docker', 'process'])('a place in a cluster is refused beside --runtime %s', (runtime) => {
  expect(() => asked({ runtime, context: 'prod' })).toThrow(/select a cluster/)
})
