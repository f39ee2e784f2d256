import { peopleEndpoints } from '@flotilla/client/people-api'
import { provedRoutes } from '@flotilla/protocol/owner-proof'
import { expect, it } from 'vitest'
import { createProofStore } from '../app/owner-proof.ts'
import { proofWords } from './format-proof.ts'

it('each call that always wants the owner’s proof says what it does for good', () => {
  const worded = Object.keys(proofWords).map((name) => {
    const { method, path } = peopleEndpoints[name as keyof typeof proofWords]
    return `${method} ${path}`
  })
  expect([...provedRoutes].filter((route) => !worded.includes(route))).toEqual([])
})

it('one question is asked for all who wait, in the words of each', async () => {
  const proofs = createProofStore()
  const given = [proofs.ask('This.'), proofs.ask('That.'), proofs.ask('This.')]
  expect(proofs.question()).toBe('This. That.')
  proofs.answer(true)
  expect(await Promise.all(given)).toEqual([true, true, true])
  expect(proofs.question()).toBe('')
})
