import { systemClock } from '@flotilla/client/system-clock'
import { useEffect, useState } from 'react'

/** Returns the current time, updated every few seconds, for components that show how long ago something happened. */
export function useNow(everyMs = 5000): number {
  const [now, setNow] = useState(() => systemClock.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(systemClock.now()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return now
}
