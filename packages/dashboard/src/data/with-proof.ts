import type { PeopleEndpointName } from '@flotilla/client/people-api'
import { Problem } from '@flotilla/protocol/problem'
import type { ProofStore } from '../app/owner-proof.ts'
import { proofWordsOf } from './format-proof.ts'

/** Does it; where the mesh wants the owner's proof first, asks the person for it, by what `name` does, and does it once more. */
export async function withProof<Reply>(
  proofs: Pick<ProofStore, 'ask'>,
  name: PeopleEndpointName,
  call: () => Promise<Reply>,
): Promise<Reply> {
  try {
    return await call()
  } catch (error) {
    const isAsked = error instanceof Problem && error.code === 'proof-wanted'
    if (!isAsked || !(await proofs.ask(proofWordsOf(name)))) throw error
    return await call()
  }
}
