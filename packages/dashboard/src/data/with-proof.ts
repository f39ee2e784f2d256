import type { PeopleEndpointName } from '@flotilla/client/people-api'
import { Problem } from '@flotilla/protocol/problem'
import type { ProofStore } from '../app/owner-proof.ts'
import { proofWordsOf } from './format-proof.ts'

/** Makes a call; if the mesh requires the owner's proof, asks the person for it and repeats the call. */
export async function withProof<Reply>(
  proofs: Pick<ProofStore, 'ask'>,
  name: PeopleEndpointName,
  call: () => Promise<Reply>,
): Promise<Reply> {
  try {
    return await call()
  } catch (error) {
    const needsProof = error instanceof Problem && error.code === 'proof-wanted'
    if (!needsProof || !(await proofs.ask(proofWordsOf(name)))) throw error
    return await call()
  }
}
