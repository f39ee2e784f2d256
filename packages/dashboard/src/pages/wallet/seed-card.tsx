import { useState } from 'react'
import { walletLimits } from '@flotilla/protocol/wallet-api'
import type { WalletState, WalletStatus } from '@flotilla/protocol/wallet-api'
import { asSentence, formatMoment } from '../../data/format.ts'
import { useAction, useMesh } from '../../data/use-mesh.ts'
import { Act } from '../../design/act.tsx'
import { Confirm } from '../../design/confirm.tsx'
import { TextField } from '../../design/fields.tsx'
import { Badge, Card } from '../../design/parts.tsx'
import type { Tone } from '../../live/state-tone.ts'
import { followedMs } from './followed-ms.ts'

const tones: Readonly<Record<WalletState, Tone>> = {
  none: 'neutral',
  locked: 'warn',
  open: 'ok',
  lost: 'bad',
}

/** Shows whether the seed is available, whether payments are signed, and what to do if not. */
export function SeedCard({ wallet }: { readonly wallet: WalletStatus }) {
  const limits = useMesh('walletLimitsNow', {}, { refetchInterval: followedMs })
  const stopped = limits.data?.stopped ?? null
  return (
    <Card
      title="Seed"
      more={
        <span className="row">
          {stopped !== null && <Badge tone="bad">stopped</Badge>}
          <Badge tone={tones[wallet.state]}>{wallet.state}</Badge>
        </span>
      }
    >
      <div className="body stack">
        {stopped !== null && <Stopped reason={stopped} />}
        {wallet.state === 'lost' && (
          <div className="note bad">
            <strong>The seed cannot be read: {wallet.fault}</strong>
            <span>
              Put <code>data/wallet-seed</code> and <code>data/wallet-key</code> back as they were and start
              again, or take the words in with <code>flotilla wallet import</code>.
            </span>
          </div>
        )}
        {wallet.state === 'locked' && <Unlock />}
        <dl className="facts">
          <Fact name="Your own address" value={wallet.owner_address ?? 'unknown'} isMono />
          <Fact name="Made" value={madeWords(wallet)} />
          <Fact name="Passphrase" value={passphraseWords(wallet)} />
          {limits.data && <Fact name="Open payments" value={String(limits.data.open)} />}
        </dl>
      </div>
    </Card>
  )
}

function Fact({
  name,
  value,
  isMono = false,
}: {
  readonly name: string
  readonly value: string
  readonly isMono?: boolean
}) {
  return (
    <div className="fact">
      <dt>{name}</dt>
      <dd className={isMono ? 'mono' : undefined}>{value}</dd>
    </div>
  )
}

function passphraseWords({ state, passphrase }: WalletStatus): string {
  if (state === 'lost') return 'unknown'
  return passphrase ? 'asked for after each start' : 'none'
}

function madeWords({ made, made_at: madeAt }: WalletStatus): string {
  if (made === null || madeAt === null) return 'unknown'
  return `${made === 'generated' ? 'here' : 'imported from its words'}, ${formatMoment(madeAt)}`
}

function Unlock() {
  const [passphrase, setPassphrase] = useState('')
  const unlock = useAction('walletUnlock', {
    done: 'The wallet is open until the mesh stops.',
    stale: ['walletStatus', 'walletBalances'],
  })
  return (
    <form
      className="wallet-unlock"
      onSubmit={(event) => {
        event.preventDefault()
        unlock.mutate({ body: { passphrase } }, { onSettled: () => setPassphrase('') })
      }}
    >
      <TextField
        label="Passphrase"
        type="password"
        value={passphrase}
        onChange={setPassphrase}
        required
        maxLength={walletLimits.passphraseMaxChars}
        hint={
          <>
            Until then nothing is signed. In a terminal: <code>flotilla wallet unlock</code>.
          </>
        }
      />
      <Act call="walletUnlock" type="submit" className="button primary" disabled={unlock.isPending}>
        Open the wallet
      </Act>
    </form>
  )
}

function Stopped({ reason }: { readonly reason: string }) {
  const [asking, setAsking] = useState(false)
  const resume = useAction('walletResume', {
    done: ({ was_stopped: reason }) =>
      reason === null ? 'The wallet was not stopped.' : 'The wallet signs again.',
    stale: ['walletLimitsNow', 'walletPayments'],
  })
  return (
    <div className="note bad" role="alert">
      <strong>The wallet signs no payments</strong>
      <span>{asSentence(reason)}</span>
      <span>
        Look at what happened there, and end any other program that pays from the same seed. Then let it sign
        again, here or with <code>flotilla wallet resume</code>.
      </span>
      <div>
        <Act call="walletResume" className="button small" onClick={() => setAsking(true)}>
          Resume the wallet …
        </Act>
      </div>
      {asking && (
        <Confirm
          title="Let the wallet sign again?"
          action="Sign again"
          busy={resume.isPending}
          onClose={() => setAsking(false)}
          onConfirm={() => resume.mutate({}, { onSettled: () => setAsking(false) })}
        >
          <p>
            The wallet continues from the current state of the chains and accepts what another program has
            sent from these addresses. If that program still runs, the wallet stops again, or both pay.
          </p>
        </Confirm>
      )}
    </div>
  )
}
