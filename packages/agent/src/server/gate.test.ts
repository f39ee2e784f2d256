import { describe, expect, test } from 'vitest'
import { makeMeshKey } from '../testing/mesh-proof.ts'
import { createGate } from './gate.ts'

const now = 1_800_000_000_000
const key = makeMeshKey(() => now)
const doorToken = 'x'.repeat(43)
const gateOptions = { agentId: 'w1', meshPublicKey: key.publicKey, doorToken, now: () => now }
const gate = createGate(gateOptions)
const good = key.proofFor('w1')
const signature = good.split('.')[1] ?? ''

describe('the gate', () => {
  test('the mesh’s own proof opens it', async () => {
    await expect(gate(good)).resolves.toBeUndefined()
  })

  test.each([
    ['nothing', undefined],
    ['an empty header', ''],
    ['another scheme', good.replace('Bearer', 'Basic')],
    ['no signature', good.split('.')[0]],
    ['three parts', `${good}.x`],
    ['another agent’s proof', key.proofFor('w2')],
    ['an agent of another spelling', key.proofFor('W1')],
    ['an expired proof', key.proofFor('w1', -1)],
    ['one that expires now', key.proofFor('w1', 0)],
    ['one that lives longer than ten minutes', key.proofFor('w1', 601)],
    ['another mesh’s proof', makeMeshKey(() => now).proofFor('w1')],
    ['a signature cut short', good.slice(0, -4)],
    ['a signature of zeros', good.replace(signature, Buffer.alloc(64).toString('base64url'))],
    [
      'another payload under the signature',
      `Bearer ${Buffer.from('{"agent":"w1","exp":9e9}').toString('base64url')}.${signature}`,
    ],
    ['a header of a megabyte', `Bearer ${'a'.repeat(1_000_000)}.b`],
  ])('%s does not', async (_name, header) => {
    await expect(gate(header)).rejects.toMatchObject({ code: 'unauthenticated' })
  })

  test('ten minutes are the longest life', async () => {
    await expect(gate(key.proofFor('w1', 600))).resolves.toBeUndefined()
  })

  test('the agent token of the start opens only the status, and only until the first signed proof', async () => {
    const fresh = createGate(gateOptions)
    const started = `Bearer ${doorToken}`
    await expect(fresh(started, { status: true })).resolves.toBeUndefined()
    await expect(fresh(started, { status: false })).rejects.toMatchObject({ code: 'unauthenticated' })
    await expect(fresh(`${started}x`, { status: true })).rejects.toMatchObject({ code: 'unauthenticated' })
    await expect(fresh(`Bearer y${'x'.repeat(42)}`, { status: true })).rejects.toMatchObject({
      code: 'unauthenticated',
    })
    await fresh(good)
    await expect(fresh(started, { status: true })).rejects.toMatchObject({ code: 'unauthenticated' })
  })
})
