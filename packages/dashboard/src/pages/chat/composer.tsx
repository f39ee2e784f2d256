import { useRef, useState } from 'react'
import type { KeyboardEvent } from 'react'
import { wireLimits } from '@flotilla/protocol/limits'
import { useAction, useServices } from '../../data/use-mesh.ts'
import type { Turn } from './turn.ts'

/** Asks where nothing is at work; says something to the run that is, and stops it. */
export function Composer({
  agent,
  session,
  working,
}: {
  readonly agent: string
  readonly session: string
  readonly working: Turn | null
}) {
  const { chats } = useServices()
  const [text, setText] = useState('')
  const field = useRef<HTMLTextAreaElement>(null)
  const cancel = useAction('runCancel')
  const steer = useAction('steer', { done: `${agent} is told before its next step.` })
  const message = text.trim()

  function send(): void {
    if (message === '') return
    if (working === null) chats.send(agent, session, message)
    else steer.mutate({ params: { id: agent }, body: { text: message, session } })
    setText('')
    field.current?.focus()
  }

  function onKey(event: KeyboardEvent): void {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    send()
  }

  return (
    <div className="composer">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          send()
        }}
      >
        <textarea
          ref={field}
          className="input"
          rows={1}
          value={text}
          aria-label={working ? `Say something to ${agent} while it works` : `Message to ${agent}`}
          placeholder={working ? 'Say something while it works …' : `Ask ${agent} …`}
          maxLength={working ? wireLimits.steerMaxChars : wireLimits.chatMessageMaxChars}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKey}
        />
        <div className="row apart">
          <span className="small muted only-wide">Enter sends, Shift Enter begins a line</span>
          <div className="row">
            {working?.runId && (
              <button
                type="button"
                className="button"
                disabled={cancel.isPending}
                onClick={() => cancel.mutate({ params: { id: working.runId ?? '' } })}
              >
                Stop
              </button>
            )}
            <button type="submit" className="button primary" disabled={message === ''}>
              {working ? 'Steer' : 'Send'}
            </button>
          </div>
        </div>
      </form>
    </div>
  )
}
