import { useEffect, useRef, useState } from 'react'
import type { KeyboardEvent } from 'react'
import { wireLimits } from '@flotilla/protocol/limits'
import { steerLimits } from '@flotilla/protocol/steer-limits'
import { useAction, useRefusal, useServices } from '../../data/use-mesh.ts'
import { AttachButton, AttachedList, useAttachments } from './attach.tsx'
import { withAttachments } from '@flotilla/protocol/chat-attachments'
import type { Turn } from './turn.ts'
import type { Put } from './use-returned.ts'
import { Act } from '../../design/act.tsx'

/** Starts a run if none is active; otherwise steers or stops the active run. */
export function Composer({
  agent,
  session,
  working,
  put,
  first,
  onFirstAsked,
  onSent,
}: {
  readonly agent: string
  readonly session: string
  /** A text that is added to the input field; null without one. */
  readonly put: Put | null
  /** The initial text of the input field, such as the first question of a new home. */
  readonly first: string
  readonly onFirstAsked: () => void
  /** Shows the end of the conversation, where what was sent appears. */
  readonly onSent: () => void
  /** The active run; without an id the message is still being sent. */
  readonly working: Pick<Turn, 'runId'> | null
}) {
  const { chats } = useServices()
  const [text, setText] = useState(first)
  const attached = useAttachments(agent)
  const field = useRef<HTMLTextAreaElement>(null)
  const refusal = useRefusal({ call: 'chat', agent })
  const cancel = useAction('runCancel')
  const steer = useAction('steer', { done: `${agent} reads it before its next step.` })
  const message = text.trim()
  const isEmpty = message === '' && attached.attachments.length === 0

  // On a phone, focus would open the keyboard over the conversation; there only an offered question gets it.
  useEffect(() => {
    if (refusal === null && (first !== '' || matchMedia('(pointer: fine)').matches)) field.current?.focus()
  }, [first, refusal, agent, session])

  useEffect(() => {
    if (put === null) return
    setText((was) => (was.trim() === '' ? put.text : `${was}\n${put.text}`))
    field.current?.focus()
  }, [put])

  function send(): void {
    if (isEmpty || attached.busy) return
    const text = withAttachments(message, attached.attachments)
    if (working === null) chats.send(agent, session, text)
    else {
      // The page shows a steer only once the mesh has it, so a steer that failed goes back into the field.
      const { attachments } = attached
      steer.mutate(
        { params: { id: agent }, body: { text, session } },
        {
          onError: () => {
            setText((now) => (now.trim() === '' ? message : `${message}\n${now}`))
            attached.restore(attachments)
          },
        },
      )
    }
    setText('')
    onSent()
    if (first !== '') onFirstAsked()
    attached.clear()
    field.current?.focus()
  }

  function stop(): void {
    if (working?.runId && refusal === null && !cancel.isPending) {
      cancel.mutate({ params: { id: working.runId } })
    }
  }

  function onKey(event: KeyboardEvent): void {
    // Escape and Enter belong to an input method while it composes a word.
    if (event.nativeEvent.isComposing) return
    if (event.key === 'Escape' && working !== null) {
      event.preventDefault()
      stop()
      return
    }
    if (event.key !== 'Enter' || event.shiftKey) return
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
          placeholder={refusal ?? (working ? 'Say something while it works …' : `Ask ${agent} …`)}
          disabled={refusal !== null}
          maxLength={working ? steerLimits.maxChars : wireLimits.chatMessageMaxChars}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKey}
          onPaste={(event) => {
            const files = [...event.clipboardData.files]
            if (files.length === 0) return
            event.preventDefault()
            attached.add(files)
          }}
        />
        <AttachedList attachments={attached.attachments} onLeaveOut={attached.leaveOut} />
        <div className="row apart">
          <span className="row">
            <AttachButton agent={agent} disabled={attached.busy} onFiles={attached.add} />
            <span className="small muted only-wide">{composerHint(attached.busy, working !== null)}</span>
          </span>
          <div className="row">
            {working?.runId && (
              <Act
                call="runCancel"
                agent={agent}
                className="button"
                disabled={cancel.isPending}
                onClick={stop}
              >
                Stop
              </Act>
            )}
            <Act
              call={working ? 'steer' : 'chat'}
              agent={agent}
              type="submit"
              className="button primary"
              disabled={isEmpty || attached.busy}
            >
              {working ? 'Steer' : 'Send'}
            </Act>
          </div>
        </div>
      </form>
    </div>
  )
}

/** Says what the keys of the input field do now. Pure. */
function composerHint(isUploading: boolean, works: boolean): string {
  if (isUploading) return 'Sending files …'
  return works ? 'Enter sends, Esc stops the run' : 'Enter sends, Shift+Enter adds a line'
}
