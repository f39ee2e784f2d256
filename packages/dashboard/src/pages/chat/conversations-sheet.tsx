import { Dialog } from '@ariakit/react/dialog'
import { useState } from 'react'
import { Icon } from '../../design/icons.tsx'
import { ConversationList } from './conversation-list.tsx'
import type { ConversationListProps } from './conversation-list.tsx'

/** The list of conversations on screens that are too narrow to show it beside the messages. */
export function ConversationsSheet({ onSession, ...shown }: ConversationListProps) {
  const { agent } = shown
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button
        type="button"
        className="button only-narrow"
        aria-haspopup="dialog"
        onClick={() => setOpen(true)}
      >
        <Icon name="chat" />
        <span className="hidden-words">Conversations with {agent}</span>
      </button>
      <Dialog
        open={isOpen}
        onClose={() => setOpen(false)}
        aria-label={`Conversations with ${agent}`}
        className="drawer conversations-sheet"
        backdrop={<div className="veil" />}
        unmountOnHide
      >
        <div className="row apart">
          <strong className="clip">{agent}</strong>
          <button type="button" className="button quiet" aria-label="Close" onClick={() => setOpen(false)}>
            <Icon name="close" />
          </button>
        </div>
        <ConversationList
          {...shown}
          onSession={(name) => {
            setOpen(false)
            onSession(name)
          }}
        />
      </Dialog>
    </>
  )
}
