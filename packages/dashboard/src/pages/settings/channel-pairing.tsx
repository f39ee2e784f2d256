import type { ChannelView } from '@flotilla/protocol/channels-api'
import { formatCount } from '../../data/format.ts'
import { useNow } from '../../data/use-now.ts'

const minuteMs = 60_000

/** Shows the state of the latest pairing code. Only the page that requested the code shows the code itself. */
export function PairingNote({
  name,
  title,
  code,
  pairing,
}: {
  readonly name: ChannelView['name']
  readonly title: string
  readonly code: string | null
  readonly pairing: NonNullable<ChannelView['pairing']>
}) {
  const now = useNow()
  const { state, detail, wrong_tries: wrong, expires_at: ends } = pairing
  if (state === 'paired') {
    return (
      <div className="note" role="status">
        <strong>Paired: {detail}</strong>
      </div>
    )
  }
  if (state !== 'open') {
    return (
      <div className="note warn" role="status">
        <strong>{state === 'refused' ? detail : 'No message contained the code while it was valid.'}</strong>
        <span>Pair again to get another code.</span>
      </div>
    )
  }
  return (
    <div className="note" role="status">
      {code === null ? (
        <strong>A code is open for {title}.</strong>
      ) : (
        <>
          <strong>
            {name === 'webhook'
              ? 'Have your program send this code as a message from you:'
              : `Send this to the bot on ${title}, alone with it:`}
          </strong>
          <code className="secret mono">{code}</code>
        </>
      )}
      <span>
        The first account that sends it is then known as you. The code is valid for{' '}
        {formatCount(Math.max(0, Math.ceil((ends - now) / minuteMs)), 'more minute')}.
        {wrong > 0 && ` ${formatCount(wrong, 'wrong code')} received meanwhile.`}
      </span>
    </div>
  )
}
