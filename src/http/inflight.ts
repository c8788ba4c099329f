/** Takes bytes of a budget; false if they do not fit now. */
export interface ByteBudget {
  take(bytes: number): boolean;
  give(bytes: number): void;
}

/** A budget over all bodies in work (`BODY_INFLIGHT_MAX_BYTES`). At the bound a request is refused, never queued. */
export function byteBudget(maxBytes: number): ByteBudget {
  let left = maxBytes;
  return {
    take: (bytes) => {
      if (bytes > left) {
        return false;
      }
      left -= bytes;
      return true;
    },
    give: (bytes) => {
      left += bytes;
    },
  };
}

/** Counts the requests of a tenant that are in work, against the tenant's own cap. */
export interface TenantSlots {
  take(tenant: string, max: number | undefined): boolean;
  give(tenant: string): void;
}

/** One counter a tenant; entries go when they reach zero, so the map is bounded by the requests in work. */
export function tenantSlots(): TenantSlots {
  const taken = new Map<string, number>();
  return {
    take: (tenant, max) => {
      const count = taken.get(tenant) ?? 0;
      if (max !== undefined && count >= max) {
        return false;
      }
      taken.set(tenant, count + 1);
      return true;
    },
    give: (tenant) => {
      const count = taken.get(tenant) ?? 0;
      if (count <= 1) {
        taken.delete(tenant);
      } else {
        taken.set(tenant, count - 1);
      }
    },
  };
}
