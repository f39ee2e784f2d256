import { useState } from 'react'
import { Link, useSearch } from 'wouter'
import { useKeptNames } from '../../data/use-kept.ts'
import { FormDialog } from '../../design/form-dialog.tsx'
import { TextField } from '../../design/fields.tsx'

/** The most filters that this browser keeps. */
const filtersMax = 20
/** The longest name of a filter, in characters. */
const nameMaxChars = 40

/** Filters that a person named, kept in this browser; the present one can be added or removed. */
export function SavedFilters() {
  const search = useSearch()
  const [filters, give] = useKeptNames('run-filters', filtersMax)
  const [name, setName] = useState<string | null>(null)
  const saved = Object.entries(filters)
  const isSaved = Object.hasOwn(filters, search)
  return (
    <>
      {saved.map(([filter, title]) => (
        <Link
          key={filter}
          href={filter === search ? '/runs' : `/runs?${filter}`}
          className="button small"
          aria-current={filter === search ? 'true' : undefined}
        >
          {title}
        </Link>
      ))}
      {search !== '' && !isSaved && (
        <button type="button" className="button quiet" onClick={() => setName('')}>
          Save filter …
        </button>
      )}
      {isSaved && (
        <button type="button" className="button quiet" onClick={() => give(search, '')}>
          Remove filter<span className="hidden-words"> {filters[search]}</span>
        </button>
      )}
      {name !== null && (
        <FormDialog
          title="Save this filter"
          words="It is kept in this browser; the address of the page is a link to it for others."
          action="Save"
          busy={name.trim() === ''}
          onClose={() => setName(null)}
          onSend={() => {
            give(search, name)
            setName(null)
          }}
        >
          <TextField label="Name" value={name} onChange={setName} maxLength={nameMaxChars} required />
        </FormDialog>
      )}
    </>
  )
}
