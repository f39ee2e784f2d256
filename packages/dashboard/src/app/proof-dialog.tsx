import { Dialog, DialogDescription, DialogHeading } from '@ariakit/react/dialog'
import { useState, useSyncExternalStore } from 'react'
import { proofLimits } from '@flotilla/protocol/owner-proof'
import { useServices } from '../data/use-mesh.ts'
import { Failed } from '../design/parts.tsx'

/** Asks for the code that `flotilla proof` prints. */
export function ProofDialog() {
  const { client, proofs } = useServices()
  const question = useSyncExternalStore(proofs.subscribe, proofs.question)
  const [code, setCode] = useState('')
  const [error, setError] = useState<unknown>(null)

  async function give(): Promise<void> {
    try {
      const { proof } = await client.call('proofGive', { body: { code } })
      proofs.set(proof)
      proofs.answer(true)
    } catch (problem) {
      setError(problem)
      setCode('')
    }
  }

  return (
    <Dialog open onClose={() => proofs.answer(false)} className="dialog" backdrop={<div className="veil" />}>
      <DialogHeading>Confirm that you are the owner</DialogHeading>
      <DialogDescription render={<div className="stack" />}>
        <p>{question}</p>
        <p>
          Run <code>flotilla proof</code> in a terminal of this machine and type the code that it prints; the
          page does not ask again for {proofLimits.proofMs / 60_000} minutes.
        </p>
      </DialogDescription>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          void give()
        }}
      >
        <input
          className="input mono"
          aria-label="Code of flotilla proof"
          inputMode="numeric"
          autoComplete="one-time-code"
          autoFocus
          maxLength={proofLimits.codeDigits + 2}
          value={code}
          onChange={(event) => setCode(event.target.value)}
        />
        {error !== null && <Failed error={error} />}
        <div className="actions">
          <button type="button" className="button" onClick={() => proofs.answer(false)}>
            Cancel
          </button>
          <button type="submit" className="button primary" disabled={code.trim() === ''}>
            Continue
          </button>
        </div>
      </form>
    </Dialog>
  )
}
