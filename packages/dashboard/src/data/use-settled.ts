import { useEffect, useState } from 'react'

/** Until a person has typed to an end. */
const settleMs = 250

/** Returns the value of a field after typing has paused, for requests to the mesh. */
export function useSettled(value: string): string {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), settleMs)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}
