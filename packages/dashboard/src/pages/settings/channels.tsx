import { useState } from 'react'
import type { ChannelView } from '@flotilla/protocol/channels-api'
import { channelTitles } from '../../data/channel-titles.ts'
import { useAction, useMesh } from '../../data/use-mesh.ts'
import { Confirm } from '../../design/confirm.tsx'
import { SecretOnce } from '../../design/fields.tsx'
import { Badge, Card, Failed, Loading } from '../../design/parts.tsx'
import { ChannelForm } from './channel-form.tsx'
import type { Made } from './channel-form.tsx'
import { ChannelNotices } from './channel-notices.tsx'
import { PairingNote } from './channel-pairing.tsx'

/** Polling interval: no event reports a channel's state, or the use of a pairing code. */
const pollEveryMs = 5000
const waitEveryMs = 1000
const stale = ['channels'] as const

const tones = {
  off: 'neutral',
  connecting: 'busy',
  connected: 'ok',
  failing: 'warn',
  refused: 'bad',
} as const

/** Shows the chat platforms: which are on, their known accounts, and the notices that owners get there. */
export function Channels() {
  const [waits, setWaits] = useState(false)
  const found = useMesh('channels', {}, { refetchInterval: waits ? waitEveryMs : pollEveryMs })
  const isOpen = found.data?.channels.some(({ pairing }) => pairing?.state === 'open') ?? false
  if (isOpen !== waits) setWaits(isOpen)
  const [made, setMade] = useState<Made | null>(null)
  return (
    <>
      {made && Object.keys(made.values).length > 0 && (
        <SecretOnce
          title={`${Object.keys(made.values).join(', ')}, made for ${channelTitles[made.channel]}`}
          secret={Object.values(made.values).join('\n')}
          onClose={() => setMade(null)}
        />
      )}
      <Card title="Chat platforms">
        {found.isPending && <Loading />}
        {found.error && <Failed error={found.error} retry={found.refetch} />}
        <ul className="body stack-wide">
          {found.data?.channels.map((channel) => (
            <Channel key={channel.name} channel={channel} onMade={setMade} />
          ))}
        </ul>
      </Card>
      {found.data && (
        <ChannelNotices
          key={JSON.stringify(found.data.notices)}
          notices={found.data.notices}
          channels={found.data.channels}
          titles={channelTitles}
        />
      )}
    </>
  )
}

function Channel({
  channel,
  onMade,
}: {
  readonly channel: ChannelView
  readonly onMade: (made: Made) => void
}) {
  const [asking, setAsking] = useState<'tokens' | 'remove' | null>(null)
  const [code, setCode] = useState<string | null>(null)
  const pair = useAction('channelPair', { stale })
  const remove = useAction('channelRemove', {
    done: 'The channel is off, and its tokens are deleted.',
    stale,
  })
  const { name, state, detail, repair, linked, waiting, credentials, pairing } = channel
  const title = channelTitles[name]
  const isOn = state !== 'off'
  const isFixed = credentials.some(({ kept }) => kept === 'environment')
  return (
    <li className="stack">
      <div className="row apart">
        <span className="row">
          <strong>{title}</strong>
          <Badge tone={tones[state]}>{state}</Badge>
          {waiting > 0 && <span className="small muted">{waiting} waiting to be sent</span>}
        </span>
        <span className="row">
          {isOn && (
            <button
              type="button"
              className="button small"
              disabled={pair.isPending}
              onClick={() => pair.mutate({ params: { name } }, { onSuccess: (reply) => setCode(reply.code) })}
            >
              Pair<span className="hidden-words"> with {title}</span>
            </button>
          )}
          {isFixed ? (
            <Badge>set in the environment</Badge>
          ) : (
            <button
              type="button"
              className="button small"
              onClick={() => setAsking(asking === 'tokens' ? null : 'tokens')}
            >
              {asking === 'tokens' ? 'Cancel' : isOn ? 'New tokens' : 'Add'}
              <span className="hidden-words"> {title}</span>
            </button>
          )}
          {isOn && !isFixed && (
            <button type="button" className="button small quiet" onClick={() => setAsking('remove')}>
              Remove<span className="hidden-words"> {title}</span> …
            </button>
          )}
        </span>
      </div>
      {isOn && (detail !== '' || repair !== '') && (
        <div className={`note ${state === 'refused' ? 'bad' : 'warn'}`}>
          {detail !== '' && <strong>{detail}</strong>}
          {repair !== '' && <span>{repair}</span>}
        </div>
      )}
      {linked.length > 0 && (
        <ul className="small muted">
          {linked.map(({ identity, person, role }) => (
            <li key={identity}>
              {person} ({role}) is <span className="mono">{identity}</span>
            </li>
          ))}
        </ul>
      )}
      {isOn && linked.length === 0 && pairing?.state !== 'open' && (
        <p className="small muted">No account is paired yet: pair yourself first.</p>
      )}
      {pairing !== null && <PairingNote name={name} title={title} code={code} pairing={pairing} />}
      {asking === 'tokens' && (
        <ChannelForm
          name={name}
          isNew={!isOn}
          onDone={(values) => {
            setAsking(null)
            onMade({ channel: name, values })
          }}
        />
      )}
      {asking === 'remove' && (
        <Confirm
          title={`Remove ${title}?`}
          action={`Remove ${title}`}
          busy={remove.isPending}
          onClose={() => setAsking(null)}
          onConfirm={() => remove.mutate({ params: { name } }, { onSettled: () => setAsking(null) })}
        >
          The channel is switched off, its tokens are deleted, and waiting messages are not sent.
        </Confirm>
      )}
    </li>
  )
}
