import { useEffect, useState } from 'react'

/** Pause in milliseconds after which typing counts as finished. */
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
