SELECT recollect.follow_clock()
