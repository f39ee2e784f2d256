import { Combobox, ComboboxItem, ComboboxList, ComboboxProvider } from '@ariakit/react/combobox'
import { Dialog } from '@ariakit/react/dialog'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { useMesh } from '../data/use-mesh.ts'
import { menu } from './menu.ts'

/** Opens any page or agent by a few letters of its name. */
export function Palette({ close }: { readonly close: () => void }) {
  const [, go] = useLocation()
  const [text, setText] = useState('')
  const status = useMesh('status')
  const agents = (status.data?.agents ?? []).flatMap(({ id }) => [
    { words: id, kind: 'agent', path: `/agents/${id}` },
    { words: `Chat with ${id}`, kind: 'chat', path: `/chat/${id}` },
  ])
  const pages = [...menu, { path: '/design', title: 'Design' }].map(({ path, title }) => ({
    words: title,
    kind: 'page',
    path,
  }))
  const found = [...pages, ...agents].filter(({ words: label }) =>
    label.toLowerCase().includes(text.toLowerCase()),
  )
  return (
    <Dialog
      open
      onClose={close}
      aria-label="Go to"
      className="dialog palette"
      backdrop={<div className="veil" />}
    >
      <ComboboxProvider setValue={setText} open>
        <Combobox
          autoSelect="always"
          className="input"
          placeholder="Go to a page or an agent"
          aria-label="Page or agent"
          autoFocus
        />
        <ComboboxList aria-label="Found" alwaysVisible>
          {found.map(({ path, words: label, kind }) => (
            <ComboboxItem
              key={path}
              className="palette-item"
              value={label}
              hideOnClick={false}
              setValueOnClick={false}
              onClick={() => {
                close()
                go(path)
              }}
            >
              {label}
              <span className="small muted">{kind}</span>
            </ComboboxItem>
          ))}
        </ComboboxList>
        {found.length === 0 && <p className="muted">No page or agent has this name.</p>}
      </ComboboxProvider>
    </Dialog>
  )
}
