// What a server other than 0 hears from server 0 of the run's workers, with each report's reply.
//
// Thread rule: any thread.
#pragma once

#include "server/departure_list.h"
#include "server/grant_list.h"

namespace weir::server {

struct CoordinatorNews {
  DepartureList departures;
  GrantList grants;  // where the server wants to know more of it, a report is due
};

}  // namespace weir::server
