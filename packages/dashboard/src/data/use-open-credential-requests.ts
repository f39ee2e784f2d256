import type { CredentialRequestView } from '@flotilla/protocol/vault-api'
import { useMesh, useRefusal } from './use-mesh.ts'

/** Returns the requests for credentials that have no answer; none for a person who may not answer. */
export function useOpenCredentialRequests(): readonly CredentialRequestView[] {
  const mayAnswer = useRefusal({ call: 'credentialRequests' }) === null
  const { data } = useMesh('credentialRequests', {}, { enabled: mayAnswer })
  return (data?.requests ?? []).filter(({ state }) => state === 'open')
}
